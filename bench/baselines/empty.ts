// What workerd costs by itself: HTTP, and the call of a Worker that does nothing but give the status that was asked for.
export default {
  fetch(request: Request): Response {
    return new Response("[]", { status: request.method === "POST" ? 201 : 200 });
  },
};

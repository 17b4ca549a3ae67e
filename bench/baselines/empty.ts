// The cost of workerd itself: HTTP, and the call of a Worker that only returns the requested status.
export default {
  fetch(request: Request): Response {
    return new Response("[]", { status: request.method === "POST" ? 201 : 200 });
  },
};

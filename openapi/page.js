// The reference at /docs: Swagger UI on our own document, with nothing from anywhere else.
globalThis.SwaggerUIBundle({
  url: "/openapi.json",
  dom_id: "#reference",
  deepLinking: true,
  tryItOutEnabled: true,
  validatorUrl: null,
});

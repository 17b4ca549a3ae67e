// Samples of each operation in several languages, for the reference. The renderer's own samples round large integers in bodies.
import type { OperationObject, ParameterObject } from "openapi3-ts/oas31";
import { ROWS } from "../register/operations.ts";
import type { OperationId, Row } from "../register/row.ts";
import { readPackages } from "./packages.ts";
import { write } from "./read.ts";

/** A new key for each reader of the page: page/reference.js fills it in. */
const NEW_UUID = "{uuid}";

interface Sample {
  lang: string;
  label: string;
  source: string;
}

interface Request {
  method: string;
  url: string;
  /** All but `Authorization`. */
  headers: [name: string, value: string][];
  body?: string;
}

/** `path` is the one in the document. */
export function samplesOf(method: string, path: string, operation: OperationObject): Sample[] {
  const request: Request = {
    method: method.toUpperCase(),
    url: `{base}${withExamples(path, operation)}`,
    headers: [],
    ...bodyOf(operation),
  };
  if (operation.parameters?.some((parameter) => "name" in parameter && parameter.name === "Idempotency-Key"))
    request.headers.push(["Idempotency-Key", NEW_UUID]);
  // An operation in the making may have no row yet. Then it does not compile.
  const row: Row | undefined = ROWS[operation.operationId as OperationId];
  return [
    ...(row === undefined ? [] : [{ lang: "typescript", label: "TypeScript", source: typescript(row.sample) }]),
    { lang: "curl", label: "curl", source: curl(request) },
    { lang: "javascript", label: "JavaScript", source: javascript(request) },
    { lang: "python", label: "Python", source: python(request) },
    { lang: "go", label: "Go", source: go(request) },
  ];
}

function withExamples(path: string, { parameters = [] }: OperationObject): string {
  return path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const parameter = parameters.find((one): one is ParameterObject => "name" in one && one.name === name);
    return encodeURIComponent(write(parameter?.example));
  });
}

function bodyOf({ requestBody }: OperationObject): Pick<Request, "headers" | "body"> | undefined {
  if (requestBody === undefined || "$ref" in requestBody) return undefined;
  const [[mediaType, { examples = {} }] = ["", {}]] = Object.entries(requestBody.content);
  const [example] = Object.values(examples);
  const text = write(example === undefined || "$ref" in example ? undefined : example.value);
  if (/['`\\]/.test(text)) throw new Error(`The samples cannot quote ${text}`);
  return { headers: [["Content-Type", mediaType]], body: text };
}

/** A call of the client. It sends an `Idempotency-Key` by itself. */
function typescript(call: Row["sample"]): string {
  const [first = "", ...lines] = String(call).split("\n").slice(1, -1);
  const [indent = ""] = /^\s*/.exec(first) ?? [];
  return `// npm install {origin}/docs/${readPackages().at(-1)?.file}
import { PetStore } from "@petstore/client";

const { KEY: apiKey = "" } = process.env;
const store = new PetStore({ baseUrl: "{base}", apiKey });

${[first, ...lines].map((line) => line.slice(indent.length)).join("\n")}`;
}

function curl({ method, url, headers, body }: Request): string {
  const lines = [
    method === "GET" ? `curl "${url}"` : `curl -X ${method} "${url}"`,
    '-H "Authorization: Bearer $KEY"',
    ...headers.map(([name, value]) => `-H "${name}: ${value}"`),
    ...(body === undefined ? [] : [`-d '${body}'`]),
  ];
  return lines.join(" \\\n  ");
}

/** Says what an `Idempotency-Key` is for, in a comment that begins so. */
const adviceOn = (name: string, comment: string) =>
  name === "Idempotency-Key" ? ` ${comment} The same in a retry, and new for the next request.` : "";

function javascript({ method, url, headers, body }: Request): string {
  const lines = headers.map(([name, value]) => `\n    "${name}": "${value}",${adviceOn(name, "//")}`);
  return `const response = await fetch("${url}", {
  method: "${method}",
  headers: {
    Authorization: \`Bearer \${process.env.KEY}\`,${lines.join("")}
  },${body === undefined ? "" : `\n  body: '${body}',`}
});
// JSON.parse would round large integers.
console.log(response.status, await response.text());`;
}

function python({ method, url, headers, body }: Request): string {
  const lines = headers.map(([name, value]) => `\n        "${name}": "${value}",${adviceOn(name, " #")}`);
  return `import os
import requests

response = requests.request(
    "${method}",
    "${url}",
    headers={
        "Authorization": "Bearer " + os.environ["KEY"],${lines.join("")}
    },${body === undefined ? "" : `\n    data='${body}',`}
)
print(response.status_code, response.text)`;
}

function go({ method, url, headers, body }: Request): string {
  const [reader, imports] = body === undefined ? ["nil", ""] : [`strings.NewReader(\`${body}\`)`, '\n\t"strings"'];
  const lines = headers.map(([name, value]) => `\n\trequest.Header.Set("${name}", "${value}")${adviceOn(name, "//")}`);
  return `package main

import (
	"fmt"
	"io"
	"net/http"
	"os"${imports}
)

func main() {
	request, err := http.NewRequest("${method}", "${url}", ${reader})
	if err != nil {
		panic(err)
	}
	request.Header.Set("Authorization", "Bearer "+os.Getenv("KEY"))${lines.join("")}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		panic(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		panic(err)
	}
	fmt.Println(response.Status, string(text))
}`;
}

// Samples of each operation in several languages, for the reference. The renderer's own samples round large integers in bodies.
import type { OperationObject, ParameterObject } from "openapi3-ts/oas31";
import { write } from "./read.ts";

interface Sample {
  lang: string;
  label: string;
  source: string;
}

interface Request {
  method: string;
  url: string;
  body?: { mediaType: string; text: string };
}

/** `path` is the one in the document. */
export function samplesOf(method: string, path: string, operation: OperationObject): Sample[] {
  const request: Request = {
    method: method.toUpperCase(),
    url: `{base}${withExamples(path, operation)}`,
    ...bodyOf(operation),
  };
  return [
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

function bodyOf({ requestBody }: OperationObject): Pick<Request, "body"> {
  if (requestBody === undefined || "$ref" in requestBody) return {};
  const [[mediaType, { examples = {} }] = ["", {}]] = Object.entries(requestBody.content);
  const [example] = Object.values(examples);
  const text = write(example === undefined || "$ref" in example ? undefined : example.value);
  if (/['`\\]/.test(text)) throw new Error(`The samples cannot quote ${text}`);
  return { body: { mediaType, text } };
}

function curl({ method, url, body }: Request): string {
  const lines = [
    method === "GET" ? `curl "${url}"` : `curl -X ${method} "${url}"`,
    '-H "Authorization: Bearer $KEY"',
    ...(body === undefined ? [] : [`-H "Content-Type: ${body.mediaType}"`, `-d '${body.text}'`]),
  ];
  return lines.join(" \\\n  ");
}

function javascript({ method, url, body }: Request): string {
  const type = body === undefined ? "" : `, "Content-Type": "${body.mediaType}"`;
  return `const response = await fetch("${url}", {
  method: "${method}",
  headers: { Authorization: \`Bearer \${process.env.KEY}\`${type} },${body === undefined ? "" : `\n  body: '${body.text}',`}
});
// JSON.parse would round large integers.
console.log(response.status, await response.text());`;
}

function python({ method, url, body }: Request): string {
  const type = body === undefined ? "" : `, "Content-Type": "${body.mediaType}"`;
  return `import os
import requests

response = requests.request(
    "${method}",
    "${url}",
    headers={"Authorization": "Bearer " + os.environ["KEY"]${type}},${body === undefined ? "" : `\n    data='${body.text}',`}
)
print(response.status_code, response.text)`;
}

function go({ method, url, body }: Request): string {
  const [reader, imports, type] =
    body === undefined
      ? ["nil", "", ""]
      : [
          `strings.NewReader(\`${body.text}\`)`,
          '\n\t"strings"',
          `\n\trequest.Header.Set("Content-Type", "${body.mediaType}")`,
        ];
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
	request.Header.Set("Authorization", "Bearer "+os.Getenv("KEY"))${type}
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

/** The requests of a creation whose first response was lost, or a 503 although the animal exists. */
interface Repeats {
  "503": number;
  "503 with Retry-After": number;
  "503 with Retry-After and a key": number;
  lost: number;
  "lost with a key": number;
}

export const NEVER: Repeats = {
  "503": 1,
  "503 with Retry-After": 1,
  "503 with Retry-After and a key": 1,
  lost: 1,
  "lost with a key": 1,
};

interface Tried {
  name: string;
  /** Of Debian. */
  packages: string[];
  command: string;
}

interface Program extends Tried {
  files?: Record<string, string>;
  /** One of examples/clients. Others only create an animal. */
  isProgram?: true;
  repeats: Partial<Repeats>;
}

/** Debian's crates, and a package that uses them. */
const CARGO = {
  ".cargo/config.toml": `[source.crates-io]
replace-with = "debian"
[source.debian]
directory = "/usr/share/cargo/registry"
`,
  "Cargo.toml": `[package]
name = "pets"
version = "0.0.0"
edition = "2021"
[[bin]]
name = "pets"
path = "pets.rs"
[dependencies]
base64 = "0.13"
hmac = "0.12"
serde_json = "1"
sha2 = "0.10"
ureq = { version = "2", default-features = false, features = ["json"] }
`,
};
const CRATES = ["ureq", "serde-json", "hmac", "sha2", "base64"].map((crate) => `librust-${crate}-dev`);
const GSON = "/usr/share/java/gson.jar";
const NEWTONSOFT = "/usr/lib/cli/Newtonsoft.Json-5.0/Newtonsoft.Json.dll";

/** libcurl repeats a creation when the server closes a connection that it had used before. */
const LIBCURL = { lost: 2, "lost with a key": 2 };
const AFTER_503 = { "503": 2, "503 with Retry-After": 2, "503 with Retry-After and a key": 2 };

const PROGRAM: Omit<Program, keyof Tried> = { isProgram: true, repeats: {} };

export const PROGRAMS: Program[] = [
  {
    ...PROGRAM,
    name: "Lua",
    packages: ["lua5.4", "lua-socket", "lua-dkjson", "lua-luaossl"],
    command: "lua5.4 $PROGRAMS/pets.lua",
  },
  {
    ...PROGRAM,
    name: "R",
    packages: ["r-base-core", ...["httr2", "jsonlite", "bit64", "openssl"].map((one) => `r-cran-${one}`)],
    command: "Rscript $PROGRAMS/pets.R",
    repeats: { "503 with Retry-After and a key": 2, ...LIBCURL },
  },
  {
    ...PROGRAM,
    name: "Erlang",
    packages: ["erlang-base", "erlang-inets", "erlang-jiffy"],
    command: "escript $PROGRAMS/pets.erl",
    repeats: { "503 with Retry-After": 2, "503 with Retry-After and a key": 2 },
  },
  { ...PROGRAM, name: "Perl", packages: ["perl"], command: "perl $PROGRAMS/pets.pl" },
  { ...PROGRAM, name: "Tcl", packages: ["tcl", "tcllib"], command: "tclsh $PROGRAMS/pets.tcl" },
  { ...PROGRAM, name: "PHP", packages: ["php-cli", "php-curl"], command: "php $PROGRAMS/pets.php", repeats: LIBCURL },
  { ...PROGRAM, name: "Ruby", packages: ["ruby"], command: "ruby $PROGRAMS/pets.rb" },
  {
    ...PROGRAM,
    name: "Java",
    packages: ["default-jdk-headless", "libgoogle-gson-java"],
    command: `[ -e Pets.class ] || javac -cp ${GSON} -d . $PROGRAMS/Pets.java; java -cp .:${GSON} Pets`,
  },
  {
    ...PROGRAM,
    name: "Go",
    packages: ["golang-go"],
    command: "go run $PROGRAMS/pets.go",
    repeats: { "lost with a key": 2 },
  },
  {
    ...PROGRAM,
    name: "C#",
    packages: ["mono-mcs", "mono-runtime", "libmono-system-net-http4.0-cil", "libnewtonsoft-json5.0-cil"],
    command: `cp -u ${NEWTONSOFT} .; [ -e pets.exe ] || mcs -r:System.Net.Http -r:Newtonsoft.Json.dll -out:pets.exe $PROGRAMS/pets.cs; mono pets.exe`,
  },
  {
    ...PROGRAM,
    name: "Rust",
    packages: ["cargo", ...CRATES],
    files: CARGO,
    command: "cp -u $PROGRAMS/pets.rs . && cargo run --quiet --offline",
  },
  {
    name: "curl --retry",
    packages: ["curl"],
    command: `curl -s --retry 2 -H "Authorization: Bearer $KEY" -H "Idempotency-Key: $IDEMPOTENCY_KEY" --json '{"name": "Rex", "categoryId": 1}' $BASE/pets`,
    repeats: AFTER_503,
  },
  {
    name: "RetryableHttpClient of Symfony",
    packages: ["php-symfony-http-client"],
    command: `php -r '
      require "/usr/share/php/Symfony/Component/HttpClient/autoload.php";
      $client = new Symfony\\Component\\HttpClient\\RetryableHttpClient(Symfony\\Component\\HttpClient\\HttpClient::create());
      $headers = getenv("IDEMPOTENCY_KEY") ? ["Idempotency-Key" => getenv("IDEMPOTENCY_KEY")] : [];
      echo $client->request("POST", getenv("BASE") . "/pets", ["auth_bearer" => getenv("KEY"), "headers" => $headers, "json" => ["name" => "Rex", "categoryId" => 1]])->getContent();'`,
    repeats: AFTER_503,
  },
  {
    name: "req_retry of httr2",
    packages: ["r-base-core", "r-cran-httr2"],
    command: `Rscript -e '
      library(httr2)
      asked <- req_auth_bearer_token(request(paste0(Sys.getenv("BASE"), "/pets")), Sys.getenv("KEY"))
      asked <- req_headers(asked, "Idempotency-Key" = if (Sys.getenv("IDEMPOTENCY_KEY") == "") NULL else Sys.getenv("IDEMPOTENCY_KEY"))
      req_perform(req_retry(req_body_json(asked, list(name = "Rex", categoryId = 1)), max_tries = 3))'`,
    repeats: { ...AFTER_503, lost: 2, "lost with a key": 2 },
  },
  {
    name: "RETRY of httr",
    packages: ["r-base-core", "r-cran-httr"],
    command: `Rscript -e '
      library(httr)
      key <- Sys.getenv("IDEMPOTENCY_KEY")
      headers <- c(Authorization = paste("Bearer", Sys.getenv("KEY")), if (key != "") c("Idempotency-Key" = key))
      RETRY("POST", paste0(Sys.getenv("BASE"), "/pets"), add_headers(.headers = headers), body = list(name = "Rex", categoryId = 1), encode = "json")'`,
    repeats: { ...AFTER_503, lost: 2, "lost with a key": 2 },
  },
];

interface Snippet extends Tried {
  prints: string[];
}

/** Decoded and encoded again. */
const NUMBERS = "[9007199254740993,9223372036854775807,123456789012345]";

export const SNIPPETS: Snippet[] = [
  {
    name: "lua-cjson rounds, and dkjson does not",
    packages: ["lua5.4", "lua-cjson", "lua-dkjson"],
    command: `lua5.4 -e '
      for _, name in ipairs({"cjson", "dkjson"}) do
        local json = require(name)
        local numbers = json.decode("${NUMBERS}")
        print(json.encode(numbers))
      end'`,
    prints: ["[9.007199254741e+15,9.2233720368548e+18,1.2345678901234e+14]", NUMBERS],
  },
  {
    name: "jsonlite rounds without bigint_as_char and bit64",
    packages: ["r-base-core", "r-cran-jsonlite", "r-cran-bit64"],
    command: `Rscript -e '
      library(jsonlite)
      cat(toJSON(fromJSON("${NUMBERS}")), "\\n")
      cat(toJSON(bit64::as.integer64(fromJSON("${NUMBERS}", bigint_as_char = TRUE))), "\\n")'`,
    prints: ["[9.00719925474099e+15,9.22337203685478e+18,123456789012345]", NUMBERS],
  },
  {
    name: "Gson rounds an Object without LONG_OR_DOUBLE",
    packages: ["default-jdk-headless", "libgoogle-gson-java"],
    command: `cat > Numbers.java <<'END'
import com.google.gson.*;
class Numbers {
  public static void main(String[] none) {
    for (var policy : new ToNumberStrategy[] {ToNumberPolicy.DOUBLE, ToNumberPolicy.LONG_OR_DOUBLE}) {
      Gson gson = new GsonBuilder().setObjectToNumberStrategy(policy).create();
      System.out.println(gson.toJson(gson.fromJson("${NUMBERS}", Object.class)));
    }
  }
}
END
java -cp ${GSON} Numbers.java`,
    prints: ["[9.007199254740992E15,9.223372036854776E18,1.23456789012345E14]", NUMBERS],
  },
  {
    name: "Yojson.Basic refuses what Yojson.Safe keeps",
    packages: ["ocaml-nox", "ocaml-findlib", "libyojson-ocaml-dev"],
    command: `cat > numbers.ml <<'END'
let () =
  (try print_endline (Yojson.Basic.to_string (Yojson.Basic.from_string "${NUMBERS}"))
   with Yojson.Json_error _ -> print_endline "refused");
  print_endline (Yojson.Safe.to_string (Yojson.Safe.from_string "${NUMBERS}"))
END
ocamlfind ocamlopt -package yojson -linkpkg numbers.ml -o numbers 2>/dev/null && ./numbers`,
    prints: ["refused", NUMBERS],
  },
  {
    name: "Octave rounds, refuses int32, and repeats a parameter",
    packages: ["octave"],
    command: `octave --quiet --no-gui --eval '
      disp(jsonencode(jsondecode("${NUMBERS}")));
      try, disp(jsonencode(int32(1000000))); catch, disp("refused"); end
      asked = weboptions("HeaderFields", {"Authorization", ["Bearer " getenv("KEY")]});
      disp(numel(jsondecode(webread([getenv("BASE") "/pets"], "id", "1", "id", "2", asked))))'`,
    prints: ["[9007199254740992.0,9223372036854776000.0,123456789012345.0]", "refused", "2"],
  },
  {
    name: "Go rounds in an any without UseNumber",
    packages: ["golang-go"],
    command: `cat > numbers.go <<'END'
package main

import ("encoding/json"; "fmt"; "strings")

func main() {
	for _, exact := range []bool{false, true} {
		var numbers any
		decoder := json.NewDecoder(strings.NewReader("${NUMBERS}"))
		if exact { decoder.UseNumber() }
		decoder.Decode(&numbers)
		text, _ := json.Marshal(numbers)
		fmt.Println(string(text))
	}
}
END
go run numbers.go`,
    prints: ["[9007199254740992,9223372036854776000,123456789012345]", NUMBERS],
  },
  {
    name: "the signature of Perl's hmac_sha256_base64 lacks its padding",
    packages: ["perl"],
    command: `perl -MDigest::SHA=hmac_sha256_base64 -e 'print length hmac_sha256_base64("content", "key")'`,
    prints: ["43"],
  },
  {
    name: "Tcl sends the low byte of each character",
    packages: ["tcl"],
    command: `cat > low.tcl <<'END'
package require http
set body "{\\"name\\": \\"\\u017dofie\\", \\"categoryId\\": 1}"
set token [http::geturl $env(BASE)/pets -headers [list Authorization "Bearer $env(KEY)"] -type application/json -query $body]
regexp {"name":"([^"]*)"} [http::data $token] -> name
puts $name
END
tclsh low.tcl`,
    prints: ["}ofie"],
  },
  {
    name: "libraries that write a list with brackets find the animals too",
    packages: ["ruby-faraday", "ruby-httparty", "ruby-rest-client", "php-guzzlehttp-guzzle", "php-symfony-http-client"],
    command: `cat > lists.rb <<'END'
require "faraday"; require "httparty"; require "json"; require "rest-client"
url, ids, headers = ENV["BASE"] + "/pets", ENV["IDS"].split, { "Authorization" => "Bearer " + ENV["KEY"] }
puts JSON.parse(Faraday.get(url, { id: ids }, headers).body).size
puts HTTParty.get(url, query: { id: ids }, headers: headers).parsed_response.size
puts JSON.parse(RestClient.get(url, headers.merge(params: { id: ids })).body).size
END
ruby lists.rb
cat > lists.php <<'END'
<?php
require "/usr/share/php/GuzzleHttp/autoload.php";
require "/usr/share/php/Symfony/Component/HttpClient/autoload.php";
$options = ["query" => ["id" => explode(" ", getenv("IDS"))], "headers" => ["Authorization" => "Bearer " . getenv("KEY")]];
echo count(json_decode((new GuzzleHttp\\Client)->get(getenv("BASE") . "/pets", $options)->getBody())), "\\n";
echo count(Symfony\\Component\\HttpClient\\HttpClient::create()->request("GET", getenv("BASE") . "/pets", $options)->toArray()), "\\n";
END
php lists.php`,
    prints: Array.from({ length: 5 }, () => "2"),
  },
];

# R 4 with httr2, jsonlite, bit64 and openssl. See docs/languages.md.
suppressPackageStartupMessages({ library(bit64); library(httr2); library(jsonlite) })
options(warn = 2)
base <- paste0(Sys.getenv("BASE"), "/pets")

send <- function(url, body = NULL) {
  asked <- req_error(req_auth_bearer_token(request(url), Sys.getenv("KEY")), is_error = function(response) FALSE)
  if (!is.null(body)) {
    text <- toJSON(body, auto_unbox = TRUE)
    asked <- req_body_raw(asked, charToRaw(enc2utf8(text)), "application/json")
    key <- Sys.getenv("IDEMPOTENCY_KEY")
    # req_retry repeats a creation that may have happened, so it needs a key.
    if (key != "") asked <- req_retry(req_headers(asked, "Idempotency-Key" = key), max_tries = 3)
  }
  response <- req_perform(asked)
  link <- resp_header(response, "Link")
  if (is.null(link)) link <- ""
  following <- regmatches(link, regexec('<([^>]*)>; rel="next"', link))[[1]][2]
  data <- fromJSON(resp_body_string(response), bigint_as_char = TRUE, simplifyDataFrame = FALSE)
  list(status = resp_status(response), data = data, link = following)
}

ids <- strsplit(Sys.getenv("IDS"), " ")[[1]]
cat("found", length(send(paste0(base, "?", paste0("id=", ids, collapse = "&")))$data), "\n")

count <- 0
url <- paste0(base, "?limit=2")
while (!is.na(url)) {
  page <- send(url)
  count <- count + length(page$data)
  url <- page$link
}
cat("paged", count, "\n")

verify <- function(content, signatures, secret) {
  mac <- openssl::base64_encode(openssl::sha256(charToRaw(content), key = openssl::base64_decode(substring(secret, 7))))
  paste0("v1,", mac) %in% strsplit(signatures, " ")[[1]]
}
content <- Sys.getenv("CONTENT")
verified <- sapply(c(content, paste0(content, " ")), verify, Sys.getenv("SIGNATURES"), Sys.getenv("SECRET"))
cat("verified", tolower(verified), "\n")

created <- send(base, list(name = "\u017dofie", categoryId = as.integer64("9223372036854775807")))
cat("created", created$status, created$data$categoryId, "\n")

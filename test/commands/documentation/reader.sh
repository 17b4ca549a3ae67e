# Read before each command of the documentation. It replaces what the test machine lacks.
set -euo pipefail

# A person at a terminal answers questions. Another test covers `npm run check`. The fake has no addresses on workers.dev.
npm() {
  local more=()
  case "$*" in
    *" keys -- "*create* | *" keys -- "*revoke*) more=(--yes) ;;
    *" release -- "*--promote* | *" rollback -- "*) more=(--yes --url "$(edge "$@")") ;;
    *" release -- "*) more=(--yes --skip-checks --url "$(edge "$@")") ;;
    *" restore -- "*) more=(--yes) ;;
    *" doctor -- "* | *" webhooks -- "*) more=(--yes --url "$(edge "$@")") ;;
    *" preview -- "*--delete* | *" preview -- "*--sweep*) ;;
    *" preview -- "*) more=(--url "$EDGE_PREVIEW") ;;
  esac
  if [ "$1" != run ]; then command npm "$@"; return; fi
  # Without the half of a second in which npm loads, but with the line that it prints.
  shift
  if [ "$1" = --silent ]; then shift; else echo "> petstore-service $1"; fi
  node --run "$1" -- "${@:3}" "${more[@]}"
}

# Without the second in which npx looks for the package.
npx() {
  case "$*" in
    "wrangler tail "* | "wrangler d1 info "* | "wrangler d1 insights "*) known "${@:2}" ;;
    "wrangler "*) wrangler "${@:2}" ;;
    *) command "$@" ;;
  esac
}

wrangler() { node --no-warnings node_modules/wrangler/wrangler.js "$@"; }

# The fake account has no logs and no figures. The help of these commands has to know their options. Prints an event of the log.
known() {
  local help word
  help=$(wrangler "$@" --help)
  for word in "$@"; do
    case $word in --*) grep --quiet -e "$word\b" <<<"$help" ;; esac
  done
  echo '{"logs":[{"message":["{\"level\":\"info\"}"]}]}'
}

edge() {
  case "$*" in
    *"--env staging"*) echo "$EDGE_STAGING" ;;
    *) echo "$EDGE_PRODUCTION" ;;
  esac
}

# curl knows nothing of CLOUDFLARE_API_BASE_URL.
curl() {
  command curl ${CURL_OPTIONS:-} "${@/#https:\/\/api.cloudflare.com\/client\/v4/${CLOUDFLARE_API_BASE_URL:-}}"
}

# Commands of one page share their variables.
if [ -f "$VARIABLES" ]; then . "$VARIABLES"; fi
trap 'export -p > "$VARIABLES"' EXIT
set -a

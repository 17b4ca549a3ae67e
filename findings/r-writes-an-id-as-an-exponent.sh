#!/usr/bin/env bash
# httr2 0.2.2 and httr 1.4.5 for R 4.2.2 (Debian 12) write the id 100000 as 1e+05 in an address: httr2 in a path, httr in a
# query. httr2 writes it as 100000 in a query, and both write 123456 in full.
# Seen: /animals/1e+05, ?id=1e%2B05, ?id=100000, /animals/123456.
# Needs: apt-get, as root, or these packages.
set -euo pipefail
packages=(r-base-core r-cran-httr r-cran-httr2)
if ! dpkg-query -W "${packages[@]}" >/dev/null 2>&1; then
  apt-get install -y -qq --no-install-recommends "${packages[@]}" >/dev/null
fi
versions=$(dpkg-query -W -f '${Version} ' "${packages[@]}")
case $versions in
"4.2.2"*" 1.4.5+"*" 0.2.2-"*) ;;
*) echo "This needs R 4.2.2, httr 1.4.5 and httr2 0.2.2, and found $versions." && exit 1 ;;
esac
diff - <(Rscript - <<'END'
base <- httr2::request("http://a.example/animals")
cat(httr2::req_url_path_append(base, 100000)$url, "\n")
cat(httr::modify_url("http://a.example/animals", query = list(id = 100000)), "\n")
cat(httr2::req_url_query(base, id = 100000)$url, "\n")
cat(httr2::req_url_path_append(base, 123456)$url, "\n")
END
) <<'END'
http://a.example/animals/1e+05 
http://a.example/animals?id=1e%2B05 
http://a.example/animals?id=100000 
http://a.example/animals/123456 
END
echo "As described."

#!/usr/bin/env bash
# jsonlite 1.8.4 for R (Debian 12) with `bigint_as_char = TRUE` reads the id 3000000000 as the text 3e+09 when another id of the
# same list is above 2^53, and as the text 3000000001 the id after it. Alone, both are numbers.
# Seen: "3e+09 3000000001 9007199254740993", and "numeric" for a list without the last one.
# Needs: apt-get, as root, or r-cran-jsonlite 1.8.4.
set -euo pipefail
if ! dpkg-query -W r-cran-jsonlite >/dev/null 2>&1; then
  apt-get install -y -qq --no-install-recommends r-cran-jsonlite >/dev/null
fi
dpkg-query -W -f '${Version}' r-cran-jsonlite | grep -q '^1\.8\.4+' || { echo "This needs jsonlite 1.8.4."; exit 1; }
diff - <(Rscript - <<'END'
read <- function(json) jsonlite::fromJSON(json, bigint_as_char = TRUE)
writeLines(paste(read("[3000000000, 3000000001, 9007199254740993]"), collapse = " "))
writeLines(class(read("[3000000000, 3000000001]")))
END
) <<'END'
3e+09 3000000001 9007199254740993
numeric
END
echo "As described."

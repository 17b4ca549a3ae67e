// Go 1.19 or later, without packages. See docs/languages.md.
package main

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log"
	"math"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
)

type animal struct {
	Name       string `json:"name"`
	CategoryID int64  `json:"categoryId"`
}

var next = regexp.MustCompile(`<([^>]*)>; rel="next"`)

func send(method, address string, body []byte, result any) (string, string) {
	request, err := http.NewRequest(method, address, bytes.NewReader(body))
	if err != nil {
		log.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+os.Getenv("KEY"))
	if key := os.Getenv("IDEMPOTENCY_KEY"); body != nil && key != "" {
		request.Header.Set("Idempotency-Key", key)
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		log.Fatal(err)
	}
	defer response.Body.Close()
	json.NewDecoder(response.Body).Decode(result)
	following := append(next.FindStringSubmatch(response.Header.Get("Link")), "", "")[1]
	return fmt.Sprint(response.StatusCode), following
}

func verify(content, signatures, secret string) bool {
	key, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(content))
	expected := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	for _, one := range strings.Fields(signatures) {
		if hmac.Equal([]byte(one), []byte(expected)) {
			return true
		}
	}
	return false
}

func main() {
	base := os.Getenv("BASE") + "/pets"
	var found []animal
	send("GET", base+"?"+url.Values{"id": strings.Fields(os.Getenv("IDS"))}.Encode(), nil, &found)
	fmt.Println("found", len(found))

	count := 0
	for address := base + "?limit=2"; address != ""; {
		var page []animal
		_, address = send("GET", address, nil, &page)
		count += len(page)
	}
	fmt.Println("paged", count)

	content, signatures, secret := os.Getenv("CONTENT"), os.Getenv("SIGNATURES"), os.Getenv("SECRET")
	fmt.Println("verified", verify(content, signatures, secret), verify(content+" ", signatures, secret))

	body, _ := json.Marshal(animal{"Žofie", math.MaxInt64})
	var created animal
	status, _ := send("POST", base, body, &created)
	fmt.Println("created", status, created.CategoryID)
}

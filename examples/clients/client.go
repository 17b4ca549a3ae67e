// Adds an animal exactly once, lists the available animals and fetches the new one. Go 1.19 or later, no packages.
// Usage: BASE=http://localhost:8787/v1 KEY=<API key> go run client.go
package main

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"math"
	mathrand "math/rand"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"time"
)

const (
	attempts    = 6
	longestWait = 120 * time.Second // That the service may ask for.
)

var (
	base, key = os.Getenv("BASE"), os.Getenv("KEY")
	client    = http.Client{Timeout: 30 * time.Second}
	bookmark  string // Of the last response. The next one then shows at least as much.
	nextPage  = regexp.MustCompile(`[?&](cursor=[\w-]+)[^>]*>; rel="next"`)
)

// Animal has its 64-bit integers as int64, which is exact.
type Animal struct {
	ID         int64  `json:"id,omitempty"`
	Name       string `json:"name"`
	CategoryID int64  `json:"categoryId"`
}

func (animal Animal) show(verb string) {
	fmt.Printf("%s %d: %s, category %d\n", verb, animal.ID, animal.Name, animal.CategoryID)
}

// failure is a request that failed.
type failure struct {
	message    string
	passing    bool // Another attempt may succeed.
	retryAfter time.Duration
}

// send sends a request once and decodes the JSON of the response into result.
func send(method, path string, header http.Header, body []byte, result any) (http.Header, *failure) {
	request, err := http.NewRequest(method, base+path, bytes.NewReader(body))
	if err != nil {
		log.Fatal(err)
	}
	request.Header = header.Clone()
	request.Header.Set("Authorization", "Bearer "+key)
	if bookmark != "" {
		request.Header.Set("x-d1-bookmark", bookmark)
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, &failure{message: err.Error(), passing: true}
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, &failure{message: err.Error(), passing: true}
	}
	if latest := response.Header.Get("x-d1-bookmark"); latest != "" {
		bookmark = latest
	}
	status, ok := response.StatusCode, response.StatusCode < 300
	if ok && json.Unmarshal(text, result) == nil {
		return response.Header, nil
	}

	// Without a code, the response comes from a proxy, or lacks its end.
	problem := struct{ Code, Message string }{Message: "The response does not come from the service."}
	_ = json.Unmarshal(text, &problem)
	seconds, _ := strconv.Atoi(response.Header.Get("Retry-After"))
	id := response.Header.Get("X-Request-Id")
	return nil, &failure{
		message: fmt.Sprintf("%d %s: %s Request id: %s", status, problem.Code, problem.Message, id),
		passing: status == 408 || status == 429 || status == 503 || problem.Code == "" && (ok || status >= 500),
		// A date, which a proxy may send, counts as none.
		retryAfter: time.Duration(seconds) * time.Second,
	}
}

// call sends a request, again after a failure that may pass. A creation needs an Idempotency-Key for this.
func call(method, path string, header http.Header, body []byte, result any) http.Header {
	backoff := 500 * time.Millisecond
	for attempt := 1; ; attempt++ {
		received, failed := send(method, path, header, body, result)
		if failed == nil {
			return received
		}
		if !failed.passing || failed.retryAfter > longestWait || attempt == attempts {
			log.Fatal(failed.message)
		}
		// Longer each time, and by chance, so that clients that failed together do not come back together.
		time.Sleep(failed.retryAfter + backoff/2 + time.Duration(mathrand.Int63n(int64(backoff/2))))
		backoff *= 2
	}
}

func main() {
	log.SetFlags(0)
	random := make([]byte, 16)
	if _, err := rand.Read(random); err != nil {
		log.Fatal(err)
	}
	creation := http.Header{"Content-Type": {"application/json"}, "Idempotency-Key": {fmt.Sprintf("%x", random)}}
	body, err := json.Marshal(Animal{Name: "Lulu the Lynx", CategoryID: math.MaxInt64})
	if err != nil {
		log.Fatal(err)
	}
	var added Animal
	call("POST", "/pets", creation, body, &added)
	added.show("Added")

	const firstPage = "/pets?status=available&limit=100"
	for page := firstPage; page != ""; {
		var animals []Animal
		header := call("GET", page, http.Header{}, nil, &animals)
		for _, listed := range animals {
			listed.show("Listed")
		}
		page = ""
		if cursor := nextPage.FindStringSubmatch(header.Get("Link")); cursor != nil {
			page = firstPage + "&" + cursor[1]
		}
	}

	var found []Animal
	call("GET", fmt.Sprintf("/pets?id=%d", added.ID), http.Header{}, nil, &found)
	for _, fetched := range found {
		fetched.show("Fetched")
	}
}

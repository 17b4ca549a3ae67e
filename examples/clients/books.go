// Keeps a book of every change of an order, by the feed. Run it as often as you like. Go 1.19 or later, no modules.
//
// Usage: BASE=http://localhost:8787/v1 KEY=<API key> BOOK=book.jsonl go run books.go
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"time"
)

type order struct {
	ID        json.Number `json:"id"` // A float64, which interface{} gives, would round it.
	PetID     json.Number `json:"petId"`
	Status    string      `json:"status"`
	CreatedAt string      `json:"createdAt"`
	ShipDate  string      `json:"shipDate"`
	Version   int64       `json:"version"`
}

type page struct {
	Events []struct {
		Data      order  `json:"data"`
		Version   int64  `json:"version"`
		Timestamp string `json:"timestamp"`
	} `json:"events"`
	Cursor string `json:"cursor"`
	More   bool   `json:"more"`
}

type entry struct {
	Order   json.Number `json:"order"`
	Version int64       `json:"version"`
	Status  string      `json:"status"`
	Animal  json.Number `json:"animal"`
	Time    string      `json:"time"`
}

// MarshalJSON writes the ids as texts, because many readers of JSON round integers.
func (e entry) MarshalJSON() ([]byte, error) {
	return []byte(fmt.Sprintf(`{"order":%q,"version":%d,"status":%q,"animal":%q,"time":%q}`,
		e.Order, e.Version, e.Status, e.Animal, e.Time)), nil
}

const types = "&type=order.placed&type=order.shipped&type=order.cancelled"
const orders = "/store/orders?include=version&limit=100"

var client = http.Client{Timeout: 30 * time.Second}
var bookmark string // of the last response. The next one then shows at least as much.
var book *os.File
var size int64 // of the book, as this run knows it.

// get returns the status of the response, and the address of the next page, if there is one.
func get(path string, result interface{}) (int, string) {
	request, err := http.NewRequest("GET", os.Getenv("BASE")+path, nil)
	check(err)
	request.Header.Set("Authorization", "Bearer "+os.Getenv("KEY"))
	if bookmark != "" {
		request.Header.Set("x-d1-bookmark", bookmark)
	}
	response, err := client.Do(request)
	check(err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	check(err)
	if response.StatusCode == 410 {
		return 410, ""
	}
	if response.StatusCode != 200 {
		check(fmt.Errorf("%d: %s", response.StatusCode, text))
	}
	if received := response.Header.Get("x-d1-bookmark"); received != "" {
		bookmark = received
	}
	check(json.Unmarshal(text, result))
	following := regexp.MustCompile(`[?&](cursor=[\w-]+)[^>]*>; rel="next"`).FindStringSubmatch(response.Header.Get("Link"))
	if following == nil {
		return 200, ""
	}
	return 200, orders + "&" + following[1]
}

// write adds lines and the cursor after them. Without its cursor, a part that a crash left behind does not count.
func write(lines []interface{}, cursor string) string {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text) // Ends each line.
	for _, line := range append(lines, map[string]string{"cursor": cursor}) {
		check(encoder.Encode(line))
	}
	now, err := book.Stat()
	check(err)
	if now.Size() != size {
		check(fmt.Errorf("Another run writes the book."))
	}
	size += int64(text.Len())
	_, err = book.Write(text.Bytes())
	check(err)
	check(book.Sync())
	return cursor
}

// begin writes every order as it is now. What is above `restarted` no longer counts.
func begin() string {
	bookmark = "" // It may belong to the state before a restore.
	var end page
	get("/events?cursor=latest"+types, &end)
	lines := []interface{}{map[string]bool{"restarted": true}}
	for path := orders; path != ""; {
		var listed []order
		_, path = get(path, &listed)
		for _, one := range listed {
			when := one.ShipDate
			if when == "" {
				when = one.CreatedAt
			}
			lines = append(lines, entry{one.ID, one.Version, one.Status, one.PetID, when})
		}
	}
	return write(lines, end.Cursor)
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err, "Run it again.")
		os.Exit(1)
	}
}

func main() {
	name := os.Getenv("BOOK")
	if name == "" {
		name = "book.jsonl"
	}
	var err error
	book, err = os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	check(err)
	text, err := io.ReadAll(book)
	check(err)
	kept := regexp.MustCompile(`(?s)^.*\{"cursor":"([0-9a-f]+)"\}\n`).FindSubmatch(text)
	cursor := ""
	if kept == nil {
		check(book.Truncate(0))
		cursor = begin()
	} else {
		size = int64(len(kept[0]))
		check(book.Truncate(size))
		cursor = string(kept[1])
	}
	for more := true; more; {
		var next page
		status, _ := get("/events?limit=100&cursor="+cursor+types, &next)
		if status == 410 {
			cursor = begin()
			continue
		}
		lines := []interface{}{}
		for _, event := range next.Events {
			lines = append(lines, entry{event.Data.ID, event.Version, event.Data.Status, event.Data.PetID, event.Timestamp})
		}
		cursor, more = write(lines, next.Cursor), next.More
	}
}

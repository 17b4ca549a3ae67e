// Adds an animal and reads it back. int64 is exact in Go.
// To retry a creation after a lost response, send the same Idempotency-Key again.
// Usage: go run client.go http://localhost:8787/v1 <API key>
package main

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
)

type Animal struct {
	ID         int64  `json:"id,omitempty"`
	Name       string `json:"name"`
	CategoryID int64  `json:"categoryId"`
	Status     string `json:"status,omitempty"`
}

func call(method, url, key string, body []byte, headers map[string]string) []byte {
	request, err := http.NewRequest(method, url, bytes.NewReader(body))
	if err != nil {
		log.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+key)
	for name, value := range headers {
		request.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		log.Fatal(err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		log.Fatal(err)
	}
	if response.StatusCode >= 400 {
		log.Fatalf("%s", content)
	}
	return content
}

func main() {
	base, key := os.Args[1], os.Args[2]
	body, _ := json.Marshal(Animal{Name: "Lulu the Lynx", CategoryID: 9223372036854775807})
	headers := map[string]string{"Content-Type": "application/json", "Idempotency-Key": rand.Text()}
	var animal Animal
	if err := json.Unmarshal(call("POST", base+"/pets", key, body, headers), &animal); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("added %+v\n", animal)
	fmt.Printf("%s\n", call("GET", fmt.Sprintf("%s/pets/%d", base, animal.ID), key, nil, nil))
}

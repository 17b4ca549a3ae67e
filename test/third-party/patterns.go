// Reads {"<pattern>": ["<text>", ...]} and prints each pattern that RE2 refuses, and each text that its pattern does not match.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
)

func main() {
	var texts map[string][]string
	if err := json.NewDecoder(os.Stdin).Decode(&texts); err != nil {
		panic(err)
	}
	for pattern, candidates := range texts {
		expression, err := regexp.Compile(pattern)
		if err != nil {
			fmt.Println(err)
			continue
		}
		for _, text := range candidates {
			if !expression.MatchString(text) {
				fmt.Printf("%s does not match %q\n", pattern, text)
			}
		}
	}
}

%% Erlang/OTP 25 with jiffy: escript pets.erl. See docs/languages.md.
-module(pets).
-mode(compile).
-export([main/1]).

main(_) ->
    {ok, _} = application:ensure_all_started(inets),
    Base = os:getenv("BASE") ++ "/pets",
    Query = uri_string:compose_query([{"id", Id} || Id <- string:split(os:getenv("IDS"), " ", all)]),
    {_, Found, _} = send(get, {Base ++ "?" ++ Query, headers()}),
    io:format("found ~p~n", [length(Found)]),
    io:format("paged ~p~n", [count(Base ++ "?limit=2", 0)]),

    [Content, Signatures, Secret] = [unicode:characters_to_binary(os:getenv(Name)) || Name <- ["CONTENT", "SIGNATURES", "SECRET"]],
    Verified = [verify(Text, Signatures, Secret) || Text <- [Content, <<Content/binary, " ">>]],
    io:format("verified ~p ~p~n", Verified),

    Body = jiffy:encode(#{name => <<"Žofie"/utf8>>, categoryId => 9223372036854775807}),
    Key = [{"idempotency-key", Value} || Value <- [os:getenv("IDEMPOTENCY_KEY")], Value =/= false],
    {Status, Animal, _} = send(post, {Base, headers() ++ Key, "application/json", Body}),
    io:format("created ~p ~p~n", [Status, maps:get(<<"categoryId">>, Animal, none)]).

headers() -> [{"authorization", "Bearer " ++ os:getenv("KEY")}].

send(Method, Request) ->
    {ok, {{_, Status, _}, Headers, Body}} = httpc:request(Method, Request, [], [{body_format, binary}]),
    {Status, jiffy:decode(Body, [return_maps]), proplists:get_value("link", Headers, "")}.

count(Url, Before) ->
    {_, Page, Link} = send(get, {Url, headers()}),
    case re:run(Link, "<([^>]*)>; rel=\"next\"", [{capture, all_but_first, list}]) of
        {match, [Next]} -> count(Next, Before + length(Page));
        nomatch -> Before + length(Page)
    end.

verify(Content, Signatures, <<"whsec_", Secret/binary>>) ->
    Mac = base64:encode(crypto:mac(hmac, sha256, base64:decode(Secret), Content)),
    lists:member(<<"v1,", Mac/binary>>, binary:split(Signatures, <<" ">>, [global])).

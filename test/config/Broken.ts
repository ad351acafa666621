/** A good treasury file, one value a line, so that a line names a mistake. */
export const goodText = `version: 1
name: harbor
mode: live
network:
  chainId: harbor-1
  gateways:
    main: { url: "https://a.gateway.example" }
    spare: "https://b.gateway.example"
  quorum: 2
  maxAge: 30s
  requestDeadline: 2s
  poll: { busy: 1s, idle: 5s }
  reconcile: 5m
  framing: auto
assets:
  USDT: { id: "cd1634ef55b13679e59bae595cc026417dc9010738ea0a20ae3b694b54fa82fa", decimals: 6 }
  VEGA: { id: "313ce7d71787960e3bb5f8258c173ae466b4e08e1e7d24b9c7a5ba81c9a02d96", decimals: 18 }
parties:
  reserve:
    publicKey: "6df24c372c044a0fd8d05774ee70449d7a035d99b3bc3b570a0bf5b22556a904"
    signer: { sandbox: reserve }
    floor: { USDT: "100_000" }
  hot:
    publicKey: "e383a8c934c2edac9c6358d7442680b7959158768d055c0881edda4a0984bcae"
    signer: { sandbox: hot }
  cold:
    publicKey: "e272deecde720ffc773d7a6a81adabbc366ccbb64da5abdb6b26f52cd3f952cb"
rules:
  - name: keep-hot-funded
    topUp:
      from: reserve
      levels:
        - { party: hot, asset: USDT, balance: free, below: "10_000", target: "25_000" }
    for: 30s
    cooldown: 10m
    min: { USDT: "500" }
    priority: 1
    onShort: partial
  - name: skim
    sweep: { from: [hot], to: cold, asset: VEGA, above: "60", target: "30" }
  - name: new-asset
    notify: { asset: any, becomes: [enabled, rejected] }
  - name: to-vault
    withdraw: { from: reserve, asset: VEGA, above: "1_000", target: "500", to: vault }
policy:
  maxFee: 0.2%
  allow:
    - { from: reserve, to: [hot], asset: USDT, perTransfer: "25_000", per24h: "100_000", transfersPer24h: 10 }
    - { from: [hot], to: [cold], asset: VEGA, perTransfer: "100", per24h: "200", transfersPer24h: 4 }
    - { from: [reserve], to: [vault], perTransfer: "600", per24h: "600", transfersPer24h: 1, asset: VEGA }
addresses:
  vault: "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
alerts:
  receivers:
    log: { log: {} }
    desk: { webhook: { url: "https://desk.example/hook" } }
  routes:
    - { severity: [page, ticket], to: [log, desk] }
    - { severity: [info], to: [log] }
store: { keep: 400d }
daemon: { listen: "127.0.0.1:9464", logLevel: info }
`

/** What is written instead of what, on which line the mistake then is, and what its one line must say. */
export interface Broken {
  readonly title: string
  readonly from: string
  readonly to: string
  /** Lines from the replaced text to the mistake; 0 where it begins there. */
  readonly after?: number
  readonly says: RegExp
}

const mistake = (title: string, from: string, to: string, says: RegExp, after = 0): Broken => ({
  title,
  from,
  to,
  says,
  after,
})

/** A payout with this plan, before the rule that it is put in front of. */
const planned = (cron: string): string => `  - name: wages
    payout: { from: hot, to: cold, asset: VEGA, amount: "1" }
    schedule: { cron: "${cron}" }
  - name: new-asset`

/** Hours in front of the rules. */
const hours = (weekdays: string, times: string): string =>
  `hours:\n  office: { weekdays: ${weekdays}, times: ${times}, location: UTC }\nrules:`

/** A receiver in place of the webhook. */
const receiver = (title: string, to: string, says: RegExp): Broken =>
  mistake(title, 'desk: { webhook: { url: "https://desk.example/hook" } }', `desk: { ${to} }`, says)

export const broken: ReadonlyArray<Broken> = [
  receiver(
    "a variable that no text has",
    'slack: { url: "https://x.y/", text: "{sevrity} {detail}" }',
    /"{sevrity}".* did you mean "severity"/,
  ),
  receiver("an unknown kind of receiver", 'slak: { url: "https://x.y/" }', /unknown key "slak".* did you mean "slack"/),
  receiver("a receiver of two kinds", 'log: {}, slack: { url: "https://x.y/" }', /has log and slack; .*exactly one/),
  receiver("a key that a service does not have", 'slack: { url: "https://x.y/", chat: "1" }', /unknown key "chat"/),
  receiver("a receiver in the clear", 'webhook: { url: "http://desk.example/" }', /not encrypted.* allowPrivate/),
  receiver(
    "a mail in the clear",
    "email: { host: mx.example, tls: none, from: a@b.example, to: [c@d.example] }",
    /not encrypted on the way to mx.example/,
  ),
  receiver(
    "a short password in place of its file",
    "email: { host: mx.example, user: a, password: hunter2, from: a@b.example, to: [c@d.example] }",
    /email\.password: a text is not valid; write a map with file$/,
  ),
  receiver("a mail to nobody", "email: { host: mx.example, from: a@b.example, to: [] }", /at least one mail address/),
  receiver(
    "a port above all ports",
    "email: { host: mx.example, port: 65536, from: a@b.example, to: [c@d.example] }",
    /email\.port: "65536" is not valid; write a port from 1 to 65535/,
  ),
  receiver("a secret that is missing", "pagerduty: { key: { file: nowhere } }", /no such file: .*nowhere/),
  receiver("a program that is missing", "command: { program: ./nowhere }", /no such file: .*nowhere.* name a program/),
  mistake(
    "an escalation to nobody",
    "to: [log, desk] }",
    "to: [log], escalate: [{ after: 15m, to: [dsek] }] }",
    /"dsek" is not a receiver.* did you mean "desk"/,
  ),
  mistake("a step at once", "to: [log, desk] }", "to: [log], escalate: [{ after: 0s, to: [desk] }] }", /above zero/),
  mistake(
    "a condition that nobody is alerted to",
    "alerts:",
    "alerts:\n  conditions: { gateway_dwn: { alert: false } }",
    /"gateway_dwn" is not a condition .* did you mean "gateway_down"/,
    1,
  ),
  mistake(
    "a heartbeat in the clear",
    "alerts:",
    'alerts:\n  heartbeat: { url: "http://hc.example/ping" }',
    /not encrypted on the way to hc.example/,
    1,
  ),
  mistake("an address with a wrong capital", '"0x5aAeb', '"0x5AAeb', /mistyped: its checksum, .* is wrong/),
  mistake("an account swept twice", "sweep: { from: [hot]", "sweep: { from: [hot, hot]", /hot is named twice; keep/),
  mistake("an address of another length", '1BeAed"', '1BeAe"', /0x and 40 hex characters/),
  mistake("an address under the name of a party", '  vault: "0x5', '  cold: "0x5', /"cold" is a party already/),
  mistake("a withdrawal to a party", "to: vault }", "to: cold }", /"cold" is a party, not an address outside/),
  mistake("a withdrawal to nobody", "to: vault }", "to: vualt }", /did you mean "vault"/),
  mistake(
    "a transfer to an address",
    "to: cold, asset: VEGA",
    "to: vault, asset: VEGA",
    /"vault" is an address .*; use withdraw/,
  ),
  mistake(
    "a withdrawal that waits for a cron",
    "to: vault }",
    'to: vault }\n    schedule: { cron: "0 9 1 * *" }',
    /means nothing/,
    1,
  ),
  mistake(
    "a plan for a day that no month has",
    "  - name: new-asset",
    planned("0 9 31 2 *"),
    /"0 9 31 2 \*" never comes; name a day that its months have/,
    2,
  ),
  mistake(
    "a last day that is a weekday",
    "  - name: new-asset",
    planned("0 9 last * 5"),
    /its weekday "5" beside last: a last day is any weekday/,
    2,
  ),
  mistake(
    "no time to be late in",
    "  - name: new-asset",
    planned('0 9 1 * *", late: "0s'),
    /late: .*a duration above zero/,
    2,
  ),
  mistake(
    "a plan with seconds",
    "  - name: new-asset",
    planned("0 9 1 * * *"),
    /not a plan: it has 6 fields instead of 5; write minute/,
    2,
  ),
  mistake(
    "a plan without a field",
    "  - name: new-asset",
    planned("0 9 1 *"),
    /"0 9 1 \*" is not a plan: it has 4 fields instead of 5; write minute/,
    2,
  ),
  mistake("hours without a day", "rules:", hours("[]", '"08:00-18:00"'), /weekdays is empty; write at least one/, 1),
  mistake("hours without a span", "rules:", hours("monday", "[]"), /times is empty; write at least one/, 1),
  mistake("a sweep from nobody", "from: [hot], to: cold", "from: [], to: cold", /from is empty; write at least one/),
  mistake("a policy line of nobody", "from: [hot], to: [cold]", "from: [], to: [cold]", /from is empty; write/),
  mistake(
    "an asset of no status",
    "  - name: new-asset",
    "  - name: news\n    notify: { when: { asset: { asset: USDT, is: [] } } }\n  - name: new-asset",
    /is is empty; write at least one status/,
    1,
  ),
  mistake(
    "seconds that no minute has",
    "  - name: new-asset",
    planned('0 9 1 * *", seconds: "0,60'),
    /seconds: "0,60" is not valid; write seconds of a minute such as 0,30$/,
    2,
  ),
  mistake("a plan for hour 25", "  - name: new-asset", planned("0 25 1 * *"), /not a plan: .*between 0 and 23/, 2),
  mistake(
    "an address that pays",
    "from: [reserve], to: [vault]",
    "from: [vault], to: [vault]",
    /"vault" is not a party/,
  ),
  mistake(
    "a rule that cancels",
    "  - name: to-vault\n    withdraw:",
    "  - name: to-vault\n    cancel: { from: reserve }\n    withdraw:",
    /there is no "cancel" any more; remove the rule: whoever holds the key/,
    1,
  ),
  mistake(
    "a policy that lets cancel",
    "  maxFee: 0.2%",
    "  cancel: [{ from: [reserve], transfersPer24h: 3 }]\n  maxFee: 0.2%",
    /there is no "cancel" any more; remove it: nothing is cancelled/,
  ),
  mistake("a misspelled part", "assets:", "asets:", /unknown key "asets"; did you mean "assets"\?/),
  mistake("a part that is none", "store:", "weather:", /unknown key "weather"; known here: version, name/),
  mistake("a misspelled key", "chainId:", "chianId:", /unknown key "chianId"; did you mean "chainId"\?/),
  mistake("a key in another case", "maxAge:", "maxage:", /unknown key "maxage"; did you mean "maxAge"\?/),
  mistake("a key of another place", "  quorum: 2", "  cooldown: 2s", /unknown key "cooldown"/),
  mistake("a misspelled key of a level", "below:", "belwo:", /"belwo"; did you mean "below"\?/),
  mistake(
    "a second level behind one that is wrong",
    "        - { party: hot, asset: USDT, balance",
    `        - { party: hut, asset: USDT, below: "1", target: "2" }
        - { party: hot, asset: USDT, below: "1", target: "2" }
        - { party: hot, asset: USDT, balance`,
    /a second level for hot\/USDT/,
    2,
  ),
  mistake("a misspelled key of the poll", "idle: 5s", "idel: 5s", /did you mean "idle"\?/),
  mistake("a key given twice", "mode: live", "mode: live\nmode: shadow", /"mode" is given twice, first on line 3/, 1),
  mistake("a version of the future", "version: 1", "version: 2", /version: "2" is not valid; write 1/),
  mistake("no version", "version: 1\n", "", /version is missing; add it/),
  mistake("no gateways", "gateways:", "pools:", /network\.gateways is missing/, -1),
  mistake("a mode that is none", "mode: live", "mode: lvie", /mode: "lvie" is not valid; did you mean "live"\?/),
  mistake("a chain id with a space", "harbor-1", "harbor 1", /network\.chainId.*chain id/),
  mistake(
    "a duration without its unit",
    "for: 30s",
    "for: 30",
    /rules #1 for: "30" is not valid; write a duration such as "30s"/,
  ),
  mistake("rows kept for less than a day", "keep: 400d", "keep: 23h", /23h is too short; write 1d or longer/),
  mistake("a duration of centuries", "keep: 400d", "keep: 999999999d", /a duration of at most 36500d/),
  mistake("centuries behind a zero", "reconcile: 5m", "reconcile: 0999999999d", /a duration/),
  mistake(
    "a day that its month lacks",
    "rules:",
    'maintenance: [{ name: move, from: "2026-02-31T00:00:00Z", until: "2026-03-09T00:00:00Z" }]\nrules:',
    /maintenance #1 from: .* write a time that the calendar has/,
  ),
  mistake("a duration of nothing", "busy: 1s", "busy: 0s", /a duration above zero/),
  mistake(
    "a fee in percent",
    "  framing: auto\n",
    '  framing: auto\n  fee: { factor: "0.1%", maxQuantum: "1" }\n',
    /network\.fee\.factor.*a decimal such as "0\.001"/,
    1,
  ),
  mistake("a quorum of none", "quorum: 2", "quorum: 0", /a whole number above zero/),
  mistake("a quorum of more than there are", "quorum: 2", "quorum: 3", /3 of 2 gateways cannot agree; write 1 to 2/),
  mistake(
    "a gateway that is not an address",
    '"https://b.gateway.example"',
    "b",
    /"b" is not an address; write one such as/,
  ),
  mistake("a gateway in the clear", '"https://b.', '"http://b.', /is not encrypted; use https except on loopback/),
  mistake("a gateway with a password", '"https://b.', '"https://u:p@b.', /must not hold credentials; put them in/),
  mistake("a gateway over ftp", '"https://b.', '"ftp://b.', /is not http; write https/),
  mistake("one gateway under two names", '"https://b.', '"https://a.', /its address is named twice/),
  mistake("one gateway under two spellings", '"https://b.', '"https://A.', /its address is named twice/),
  mistake(
    "streams",
    "  framing: auto",
    "  streams: true",
    /there is no "streams" any more; remove it: the gateways are/,
  ),
  mistake(
    "a gateway that is read by pages",
    'example" }',
    'example", reads: cursor }',
    /there is no "reads" any more; remove it: each gateway/,
  ),
  mistake(
    "a list for a map",
    "poll: { busy: 1s, idle: 5s }",
    "poll: [1s, 5s]",
    /: a list is not valid; write a map with busy or idle/,
  ),
  mistake(
    "a text for a map",
    "    signer: { sandbox: hot }",
    "    signer: hot",
    /: a text is not valid; write a map with file or sandbox/,
  ),
  mistake(
    "a plan in one text",
    "    for: 30s",
    '    schedule: "0 9 * * *"',
    /schedule: .* is not valid; write a map with cron \(optional: seconds, location, missed, late\)/,
  ),
  mistake("a map for a text", "harbor-1", "{ id: harbor-1 }", /network\.chainId: a map is not valid; write one text/),
  mistake("a text for a list", "to: [cold], asset: VEGA, per", "to: cold, asset: VEGA, per", /write a list: begin/),
  mistake(
    "nothing where a map belongs",
    "poll: { busy: 1s, idle: 5s }",
    "poll:",
    /network\.poll is empty; write a map/,
  ),
  mistake("an id that is none", "cd1634ef", "CD1634EF", /assets\.USDT\.id.*64 lower-case hex/),
  mistake("decimals of no ledger", "decimals: 18", "decimals: 78", /a whole number from 0 to 77/),
  mistake("decimals in words", "decimals: 6", "decimals: six", /decimals: "six" is not valid/),
  mistake(
    "one asset under two names",
    "313ce7d71787960e3bb5f8258c173ae466b4e08e1e7d24b9c7a5ba81c9a02d96",
    "cd1634ef55b13679e59bae595cc026417dc9010738ea0a20ae3b694b54fa82fa",
    /the same id as asset "USDT"; give each asset one name/,
  ),
  mistake(
    "one key under two names",
    "e272deecde720ffc773d7a6a81adabbc366ccbb64da5abdb6b26f52cd3f952cb",
    "e383a8c934c2edac9c6358d7442680b7959158768d055c0881edda4a0984bcae",
    /the same key as party "hot"; give each key one name/,
  ),
  mistake(
    "a signer of two kinds",
    "{ sandbox: hot }",
    "{ sandbox: hot, file: x }",
    /has file and sandbox; give exactly one/,
  ),
  mistake("a signer of no kind", "{ sandbox: hot }", "{}", /the signer is empty; give exactly one of file, sandbox/),
  mistake(
    "a private key in place of its file",
    "{ sandbox: hot }",
    `{ file: "${"ab".repeat(32)}" }`,
    /parties\.hot\.signer\.file: this is a key, not the path of a file; put it into a file and write its path$/,
  ),
  mistake("a key file that is not there", "{ sandbox: hot }", "{ file: nowhere/hot }", /no such file: .*nowhere.hot/),
  mistake("a floor of an unknown asset", 'floor: { USDT: "100', 'floor: { USDC: "100', /"USDC" is not pinned/),
  mistake("an amount with odd groups", '"10_000"', '"10_00"', /groups its digits oddly/),
  mistake("an amount finer than the asset", '"25_000" }', '"25_000.0000001" }', /has 6 decimals|6 decimals/),
  mistake("a negative amount", 'min: { USDT: "500" }', "min: { USDT: -500 }", /min\.USDT.*an amount/),
  mistake("an amount beyond every ledger", 'above: "60"', `above: "${"9".repeat(90)}"`, /too large/),
  mistake("a party that nobody defined", "from: reserve\n", "from: resreve\n", /"resreve" is not a party/),
  mistake(
    "a target on the wrong side",
    'target: "25_000" }',
    'target: "2_500" }',
    /target 2_500 is less than the trigger 10_000 \(below\)/,
  ),
  mistake("a trigger that no balance reaches", 'below: "10_000"', 'below: "0"', /no balance falls below 0/),
  mistake(
    "a payment to itself",
    "from: [hot], to: cold, asset: VEGA, above",
    "from: [hot], to: hot, asset: VEGA, above",
    /would pay itself/,
  ),
  mistake("a second rule of one name", "name: skim", "name: keep-hot-funded", /a second rule "keep-hot-funded"/),
  mistake(
    "a rule with the name of people's payments",
    "name: skim",
    "name: submit",
    /is reserved for payments of people/,
  ),
  mistake(
    "a rule of no kind",
    "    notify: { asset: any, becomes: [enabled, rejected] }\n",
    "",
    /the rule is empty; give exactly one/,
    -1,
  ),
  mistake("a status that is none", "[enabled, rejected]", "[enabeld, rejected]", /did you mean "enabled"\?/),
  mistake("no status", "[enabled, rejected]", "[]", /at least one status/),
  mistake("a fee without per cent", "maxFee: 0.2%", "maxFee: 0.2", /maxFee.*a percentage such as "0\.2%"/),
  mistake(
    "a limit below one transfer",
    'per24h: "100_000"',
    'per24h: "10_000"',
    /per24h 10_000 is below perTransfer 25_000; set per24h to at least 25_000/,
  ),
  mistake(
    "a policy for an unknown party",
    "to: [hot], asset: USDT, perT",
    "to: [hto], asset: USDT, perT",
    /"hto" is not a party; did you mean "hot"\?/,
  ),
  mistake(
    "a policy without a limit",
    ", transfersPer24h: 10 }",
    " }",
    /policy\.allow #1 transfersPer24h is missing; add it/,
  ),
  mistake("a severity that is none", "[info]", "[infos]", /did you mean "info"\?/),
  mistake("a port without its host", '"127.0.0.1:9464"', '"9464"', /daemon\.listen.*host:port/),
  mistake(
    "a line indented too little",
    "    cooldown: 10m",
    "   cooldown: 10m",
    /neither an item of the list nor a key of the item above; indent this line like/,
  ),
  mistake(
    "a line indented too much",
    "    cooldown: 10m",
    "      cooldown: 10m",
    /a map begins within this value; indent the next line like this one, or write the value in quotes/,
    -1,
  ),
  mistake("a tab", "  maxAge: 30s", "\tmaxAge: 30s", /tab|indent with spaces/i),
  mistake("no space behind a colon", "maxFee: 0.2%", "maxFee:0.2%", /is not "name: value"; write a space after ":"/),
  mistake("an open quote", "maxFee: 0.2%", 'maxFee: "0.2%', /quote|Missing closing/i),
  mistake(
    "an open brace",
    "{ busy: 1s, idle: 5s }",
    "{ busy: 1s, idle: 5s",
    /no "\}" closes the map or list in brackets before this line; write "\}" at the end/,
    1,
  ),
  mistake("an alias of nothing", "mode: live", "mode: *live", /alias|nothing above is called/i),
  mistake("an alias in itself", "gateways:", "gateways: &g\n    loop: *g", /"\*g" contains itself/, 1),
  mistake("a tag", "quorum: 2", "quorum: !!int 2", /remove the tag|tag/i),
  mistake("a merge key", "poll: {", "poll: { <<: *x, ", /nothing above is called "&x"|alias/i),
  mistake("a list as a name", "  quorum: 2", "  ? [a, b]\n  : 2", /a list or a map cannot be a name; write a word/),
]

/** The text of `operator --help`. */
export const operatorUsage = `operator commands (those that change something take --note TEXT for the audit log; they act for the person who has signed in, or in a sandbox without staff for --staff NAME):
  operator sign-in [--token-file FILE]
  operator sign-out [--token-file FILE]
  operator who [--token-file FILE]
  operator change list
  operator change show --id ID
  operator change approve --id ID
  operator change reject --id ID --note TEXT
  operator change run --id ID
  operator partner create --name NAME
  operator partner list
  operator partner rotate --partner ID [--overlap-hours 24]
  operator partner expire --partner ID [--at TIME]
  operator partner export --partner ID --to FILE --key-file FILE [--remove]
  operator partner import --from FILE --key-file FILE [--copy]
  operator service-account create --partner ID --name NAME --permissions a:read,b:write | all [--public-key FILE.pem]
  operator service-account list --partner ID
  operator service-account rotate --partner ID --id ID [--overlap-hours 24] [--public-key FILE.pem]
  operator service-account expire --partner ID --id ID [--at TIME]
  operator service-account revoke --partner ID --id ID
  operator impersonate --partner ID --note TEXT [--staff NAME] [--minutes 15]
  operator member recover --partner ID --email ADDRESS --identified-by TEXT --note TEXT
  operator member recovery cancel --partner ID --id ID --note TEXT
  operator member recovery list --partner ID
  operator case list
  operator case show --partner ID --id ID
  operator case history --partner ID --id ID
  operator case propose --partner ID --id ID --action match|credit|fees|return|reverse|charge|announced|write-off|note|refuse [--staff NAME] --note TEXT
    [--to-partner ID] [--payout ID | --customer ID]
  operator case approve --partner ID --id ID [--staff NAME] [--proposal ID]
  operator case reject --partner ID --id ID [--staff NAME] --note TEXT
  operator payment find --id ID | --reference TEXT [--day DATE] | --amount 100.00 --currency EUR [--day DATE]
    [--partner ID]
    (ID: of the payout or of its instruction, or the end-to-end id)
  operator deposit undo --partner ID --reference TEXT [--part ID] --note TEXT
  operator payment retry --partner ID --payout ID [--staff NAME]
  operator payment undo --partner ID --payout ID --note TEXT
  operator payment recall --partner ID --payout ID --reason DUPL|TECH|FRAD|CUST|AC03|AM09 --note TEXT
  operator payment end --partner ID --payout ID --outcome paid|not-paid --evidence FILE --note TEXT
  operator screening load --from FILE [--name NAME] [--staff NAME]
    (FILE: the list of the UN, of the EU (1.1), SDN.XML or SDN_ADVANCED.XML; with NAME politically exposed persons, targets.simple.csv)
  operator screening remove --name NAME [--staff NAME] [--note TEXT]
  operator screening country set --countries IR,KP --for payouts,deposits,customers --action refuse|review [--staff NAME] [--note TEXT]
  operator screening country list
  operator screening country remove --countries IR,KP --for payouts,deposits,customers [--staff NAME] [--note TEXT]
  operator screening status
  operator screening rescreen
  operator screening hits
  operator screening show --partner ID --id ID
  operator screening decide --partner ID --id ID --outcome clear|confirm [--staff NAME] --note TEXT
  operator reconcile [--connector ID] [--account IBAN] [--at DATE] [--format json|csv]
  operator safeguarding accounts set --account IBAN --currency EUR [--staff NAME] [--from DAY] [--until DAY]
  operator safeguarding accounts list
  operator safeguarding run --day DAY [--at TIME]
  operator safeguarding show --day DAY [--currency EUR]
  operator safeguarding export --day DAY --to FILE [--format json|csv|pdf] [--currency EUR]
  operator safeguarding verify --from FILE [--key PUBLIC_KEY]
  operator monitoring rule set --from FILE.json | --rule JSON [--staff NAME] [--id ID [--version NUMBER]]
  operator monitoring rule list
  operator monitoring rule backtest --id ID --from DAY --until DAY [--staff NAME]
  operator monitoring backtest start --id ID --from DAY --until DAY [--version NUMBER] [--staff NAME]
  operator monitoring rule on --id ID [--version NUMBER] [--staff NAME]
  operator monitoring rule off --id ID [--version NUMBER] [--staff NAME]
  operator monitoring alert list --partner ID
  operator monitoring alert export --partner ID --to FILE.csv
  operator bank files [--connector ID]
  operator bank recall letter --partner ID --payout ID --to FILE.pdf
  operator bank recall sent --partner ID --payout ID --note TEXT [--staff NAME]
  operator bank recall answer --partner ID --payout ID --outcome accepted|refused [--reason CODE] [--staff NAME] [--note TEXT]
  operator bank file take --id CASE --note TEXT
  operator bank entry cancel --id CASE --note TEXT
  operator bank payment --partner ID --payout ID
  operator bank recall --partner ID --payout ID --reason DUPL|TECH|FRAD|CUST|AC03|AM09 [--staff NAME]
  operator ledger balances --partner ID [--at TIME]
  operator ledger statement --partner ID --currency EUR [--account balance] [--from TIME] [--to TIME] [--format table|csv]
  operator ledger check [--partner ID | --from ID]
  operator account block --partner ID --currency EUR | --customer ID [--direction both|inbound|outbound]
    --reason Compliance|CourtOrder|CustomerRequest|Fraud|PartnerRequest|Other [--staff NAME] [--note TEXT]
  operator account unblock --partner ID --currency EUR | --customer ID --reason CODE [--staff NAME] [--note TEXT]
  operator account close --partner ID --currency EUR | --customer ID --reason CODE [--staff NAME] [--note TEXT]
  operator account list --partner ID
  operator limit set --partner ID --scope partner|customer|beneficiary --period payment|day|month --currency EUR --amount 1000.00
    [--customer ID | --state Complete|Incomplete|Invalid | --beneficiary ID]
  operator limit list --partner ID
  operator limit remove --partner ID --id ID
  operator fee set --partner ID --currency EUR [--rail any|Sepa|Swift|Wallet] [--fixed 0.20] [--basis-points 25]
    [--min 0.50] [--max 20.00] [--from TIME]
  operator fee list --partner ID
  operator fee remove --partner ID --id ID
  operator approval set --partner ID --currency EUR [--above 10000.00] [--above-day 50000.00] [--above-bulk 50000.00] [--beneficiary-hours 24] [--expires-hours 72]
    [--per-person 50000.00] [--passkey] [--payee-mismatch]
  operator approval list --partner ID
  operator approval remove --partner ID --id ID
  operator cooling-off set --partner ID --currency EUR [--hours 24]
  operator cooling-off list --partner ID
  operator cooling-off remove --partner ID --id ID
  operator gate set --partner ID --state Complete|Incomplete|Invalid --allow OpenAccount,Receive,Pay | none [--hold-up-to EUR=150.00,USD=150.00]
  operator gate list --partner ID
  operator gate remove --partner ID --state Complete|Incomplete|Invalid
  operator segregation list --partner ID
  operator segregation plan --partner ID --currency EUR
  operator segregation cover --partner ID --currency EUR [--staff NAME] [--note TEXT]
  operator segregation set --partner ID --currency EUR --mode segregated|pooled [--staff NAME] [--note TEXT]
  operator review set --partner ID --customer ID --risk low|medium|high [--staff NAME] [--months 12] [--note TEXT]
  operator review list --partner ID
  operator review overdue [--partner ID]
  operator review missing --partner ID
  operator bic load --from FILE [--staff NAME]
  operator bic show
  operator sort-codes load --from FILE [--substitutes FILE] [--staff NAME]
  operator sort-codes show
  operator ibans import --file FILE --pool NAME [--staff NAME] [--currency EUR] [--connector ID] [--partner ID] [--skip-bad]
  operator ibans list
  operator ibans withdraw --pool NAME [--staff NAME] [--iban IBAN] [--partner ID]
  operator fx position
  operator wallet-key create
  operator travel-rule show --hash HASH
  operator audit verify [--partner ID]
  operator staff invite --email ADDRESS --name NAME --role support|compliance|finance|admin
  operator staff list
  operator staff role --id ID --role support|compliance|finance|admin
  operator staff remove --id ID
  operator staff end-sessions --id ID
  operator staff token create --commands "screening load,bic load" --to FILE [--days 90]
  operator staff token list
  operator staff token end --id ID
  operator key list
  operator key reseal
  operator backup create
  operator backup restore --from FOLDER [--until TIME]`

/** The answer to `--help` or `-h`: the lines of the command, or of all commands. Undefined: not asked for. */
export function helpOf(args: readonly string[]): string | undefined {
  if (!args.includes('--help') && !args.includes('-h')) return undefined
  const words = args.filter((arg) => !arg.startsWith('-')).join(' ')
  const [title = '', ...entries] = operatorUsage.split(/\n(?= {2}operator )/)
  const own = entries.filter((entry) => `${entry} `.startsWith(`  operator ${words} `))
  return [title, ...(own.length > 0 ? own : entries)].join('\n')
}

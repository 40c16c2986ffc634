/** The declarations of commands about payments and money: cases, payments, banks, safeguarding, the ledger and accounts. */
import {
  changes,
  choice,
  currency,
  customer,
  day,
  file,
  flag,
  iban,
  id,
  maybe,
  moment,
  money,
  name,
  note,
  or,
  partner,
  payout,
  reads,
  staff,
  text,
  time,
} from './declaration.ts'

const ofCase = { partner, id: id('The case.') }
const ofPayout = { partner, payout }
const bankCase = { id: id('The case.', 'CASE'), note, staff }
const recallReason = choice('The reason of ISO 20022.', 'DUPL', 'TECH', 'FRAD', 'CUST', 'AC03', 'AM09')
const account = text('The bank account.', 'IBAN')
const connector = text('The bank, by its id in the settings.', 'ID')
const ofDay = day('The day in UTC.')
const balanceOrCustomer = {
  partner,
  currency: maybe({ ...currency, text: 'The currency of a balance. Or --customer.' }),
  customer: maybe({ ...customer, text: 'The customer whose account it is. Or --currency.' }),
}
const stateChange = {
  ...balanceOrCustomer,
  reason: choice('Why.', 'Compliance', 'CourtOrder', 'CustomerRequest', 'Fraud', 'PartnerRequest', 'Other'),
  staff,
}
const accountOf = (given: { readonly partner?: string; readonly currency?: string; readonly customer?: string }) =>
  given.customer === undefined
    ? `the balance of ${given.partner} in ${given.currency}`
    : `the account of the customer ${given.customer} of ${given.partner}`
const wayOf = { both: 'pays and receives nothing', inbound: 'receives nothing', outbound: 'pays nothing' } as const

export const moneyDeclarations = {
  'case list': reads('List the open cases, oldest first.', {}),
  'case show': reads('Show a case, with candidates for its money.', ofCase),
  'case history': reads('List every decision about a case.', ofCase),
  'case propose': changes(
    'all',
    'Propose how a case ends.',
    {
      ...ofCase,
      action: choice(
        'What is done with the money, or with the payouts that wait.',
        ...([
          'match',
          'credit',
          'fees',
          'return',
          'reverse',
          'charge',
          'announced',
          'write-off',
          'note',
          'release',
          'refuse',
        ] as const),
      ),
      ...{ note, staff, 'to-partner': maybe(id('The partner that it belongs to.')) },
      ...{ payout: maybe({ ...payout, text: 'The payout that it pays.' }), customer: maybe(customer) },
      disposition: maybe(
        choice(
          'What you found about an alert of monitoring.',
          ...(['false_positive', 'explained', 'watched', 'suspicious_reported', 'fraud', 'unexplained'] as const),
        ),
      ),
    },
    {
      byKind: true,
      examples: [
        '--partner ID --id ID --action match --payout ID --note "Paid late" --staff NAME',
        '--partner ID --id ID --action refuse --disposition fraud --note "Reported by the payee" --staff NAME',
      ],
    },
  ),
  'case approve': changes(
    'all',
    'Approve the proposal of another person.',
    { ...ofCase, staff, proposal: maybe(id('The proposal that you have read.')) },
    { byKind: true },
  ),
  'case reject': changes(
    'all',
    'Reject a proposal, or withdraw your own.',
    { ...ofCase, note, staff },
    { byKind: true },
  ),
  'payment find': reads(
    'Find payouts by an id, a reference or an amount.',
    {
      id: maybe(text('The id of the payout or of its instruction, or the end-to-end id.', 'ID')),
      reference: maybe(text('The reference of the payout.')),
      amount: maybe(money('The amount, with --currency.', '100.00')),
      currency: maybe(currency),
      day: maybe(ofDay),
      partner: maybe(partner),
    },
    {
      examples: ['--id ID', '--reference INVOICE-7 --day 2026-11-20', '--amount 100.00 --currency EUR'],
    },
  ),
  'payment retry': changes('finance', 'Make the next attempt of a payout due now.', ofPayout),
  'payment end': changes(
    'finance',
    "End a payment by the bank's written word.",
    {
      ...ofPayout,
      outcome: choice('What the bank says.', 'paid', 'not-paid'),
      evidence: file('The document of the bank. Its name and its hash are recorded.'),
      note,
    },
    {
      second: 'always',
      examples: ['--partner ID --payout ID --outcome paid --evidence letter.pdf --note "Letter of 3 May"'],
    },
  ),
  'payment undo': changes(
    'finance',
    'Take the debit of a bank from a payment that it was matched with by mistake.',
    { ...ofPayout, note },
    { second: 'always' },
  ),
  'payment recall': changes('finance', 'Ask the bank to have a paid payout back.', {
    ...{ ...ofPayout, reason: recallReason, note },
  }),
  'deposit undo': changes(
    'finance',
    'Take a credit from what it was matched with by mistake.',
    {
      partner,
      reference: text('The transaction of the deposit.'),
      part: maybe(id('The part of the session.')),
      note,
    },
    { second: 'always' },
  ),
  'bank files': reads('List the newest files of each bank.', { connector: maybe(connector) }),
  'bank payment': reads('Show where a payment stands at a file-based bank.', ofPayout),
  'bank recall': changes('finance', 'Send a recall to a file-based bank.', {
    ...{ ...ofPayout, reason: recallReason, staff },
  }),
  'bank recall letter': reads('Write the letter of a recall, for a bank that takes no files of recalls.', {
    ...{ ...ofPayout, to: file('The file to write.', 'FILE.pdf') },
  }),
  'bank recall sent': changes('finance', 'Record that the letter of a recall is sent.', { ...ofPayout, note }),
  'bank recall answer': changes('finance', "Record the bank's answer to the letter.", {
    ...ofPayout,
    outcome: choice('What the bank says.', 'accepted', 'refused'),
    reason: maybe(text("The bank's code of ISO 20022.", 'CODE')),
  }),
  'bank file take': changes('finance', 'Take a file that was quarantined.', bankCase, { second: 'always' }),
  'bank entry cancel': changes('finance', 'Cancel an entry that the bank does not have.', bankCase, {
    second: 'always',
  }),
  reconcile: reads(
    'Print whether the banks and the ledger agree, with every item.',
    {
      connector: maybe(connector),
      account: maybe(account),
      at: maybe(moment('The end of what is compared. Default: now.')),
      format: or(choice('The form of the output.', 'json', 'csv'), 'json'),
    },
    { examples: ['--at 2026-11-20 --format csv'] },
  ),
  'safeguarding accounts set': changes('finance', 'Designate a bank account that holds client money.', {
    account,
    currency,
    staff,
    from: maybe(day('The first day. Default: today.')),
    until: maybe(day('The day on which the designation ends.')),
  }),
  'safeguarding accounts list': reads('List the designated accounts.', {}),
  'safeguarding run': changes(
    'finance',
    'Compute the safeguarding of a day.',
    { day: ofDay, at: maybe(time('The time of the computation, of a day that is not over.')) },
    { scheduled: true },
  ),
  'safeguarding show': reads('Show the records of a day, with their versions.', {
    ...{ day: ofDay, currency: maybe(currency) },
  }),
  'safeguarding export': reads('Write the signed records of a day to a file.', {
    ...{ day: ofDay, currency: maybe(currency), to: file('The file to write.') },
    format: or(choice('The form of the file.', 'json', 'csv', 'pdf'), 'json'),
  }),
  'safeguarding verify': reads('Verify an exported file, without a database.', {
    from: file('The exported file.'),
    key: maybe(text('The public key that must have signed it.', 'PUBLIC_KEY')),
  }),
  'ledger balances': reads('List the balances of a partner, now or at a time.', {
    ...{ partner, at: maybe(time('The time. Default: now.')) },
  }),
  'ledger statement': reads(
    'Print the statement of an account of the ledger.',
    {
      ...{ partner, currency },
      account: or(
        text('The account: balance, suspense, transfers, parts, fees, fx or settlement.CONNECTOR.', 'NAME'),
        'balance',
      ),
      from: maybe(time('The first time.')),
      to: maybe(time('The time before which it ends.')),
      format: or(choice('The form of the output.', 'table', 'csv'), 'table'),
    },
    { examples: ['--partner ID --currency EUR --from 2026-11-30T23:00:00Z --to 2026-12-31T23:00:00Z --format csv'] },
  ),
  'ledger check': reads('Compare all rows that record the same money.', {
    partner: maybe({ ...partner, text: 'Only this partner.' }),
    from: maybe(text('The last position of an interrupted check, which continues there.', 'POSITION')),
  }),
  'fx position': reads("Show the operator's open position in each currency.", {}),
  'account block': changes(
    'money',
    'Block a balance or the account of a customer. Its waiting payouts are cancelled.',
    {
      ...stateChange,
      direction: or(choice('What is blocked.', 'both', 'inbound', 'outbound'), 'both'),
    },
    {
      hidden: true,
      cuts: (given) =>
        `blocks ${accountOf(given)} at once: it ${wayOf[given.direction as keyof typeof wayOf] ?? wayOf.both}${given.direction === 'inbound' ? '' : ', and its waiting payouts are cancelled'}`,
      examples: ['--partner ID --currency EUR --direction outbound --reason CourtOrder --staff NAME --yes'],
    },
  ),
  'account unblock': changes('money', 'End a block.', stateChange, { second: 'on', hidden: true }),
  'account close': changes('money', 'Close an empty account for ever.', stateChange, {
    second: 'on',
    hidden: true,
    cuts: (given) => `closes ${accountOf(given)} for ever`,
  }),
  'account list': reads('List the accounts of a partner that are not active.', { partner }),
  'ibans import': changes('finance', "Import a bank's file of IBANs into a pool.", {
    ...{ file: file('The file of the bank.'), pool: name('The pool.'), currency: or(currency, 'EUR'), staff },
    ...{ connector: maybe(connector), partner: maybe({ ...partner, text: 'Only this partner takes from the pool.' }) },
    'skip-bad': flag('Import the good lines of a file with bad ones.'),
  }),
  'ibans list': reads('List the pools of IBANs.', {}),
  'ibans withdraw': changes('finance', 'Withdraw IBANs from a pool. Assigned ones stay.', {
    ...{ pool: name('The pool.'), iban: maybe(iban('Only this one.')), partner: maybe(partner), staff },
  }),
  'wallet-key create': changes('admin', 'Create the keys of the chain connectors.', {}),
  'travel-rule show': reads('Show the parties of a payment on a chain.', { hash: text('The transaction.', 'HASH') }),
}

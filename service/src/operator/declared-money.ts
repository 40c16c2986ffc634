/** The declarations of commands about payments and money: cases, payments, banks, safeguarding, the ledger and accounts. */
import {
  changeCommand,
  choice,
  currency,
  customer,
  day,
  file,
  flag,
  iban,
  id,
  optional,
  dayOrTime,
  money,
  name,
  note,
  withDefault,
  partner,
  payout,
  readCommand,
  staff,
  text,
  time,
} from './declaration.ts'

const caseOptions = { partner, id: id('The case.') }
const payoutOptions = { partner, payout }
const bankCase = { id: id('The case.', 'CASE'), note, staff }
const recallReason = choice('The reason of ISO 20022.', 'DUPL', 'TECH', 'FRAD', 'CUST', 'AC03', 'AM09')
const account = text('The bank account.', 'IBAN')
const connector = text('The bank, by its id in the settings.', 'ID')
const dayOption = day('The day in UTC.')
const balanceOrCustomer = {
  partner,
  currency: optional({ ...currency, text: 'The currency of a balance. Or --customer.' }),
  customer: optional({ ...customer, text: 'The customer whose account it is. Or --currency.' }),
}
const stateChange = {
  ...balanceOrCustomer,
  reason: choice('Why.', 'Compliance', 'CourtOrder', 'CustomerRequest', 'Fraud', 'PartnerRequest', 'Other'),
  staff,
}
const accountText = (given: { readonly partner?: string; readonly currency?: string; readonly customer?: string }) =>
  given.customer === undefined
    ? `the balance of ${given.partner} in ${given.currency}`
    : `the account of the customer ${given.customer} of ${given.partner}`
const blockEffects = {
  both: 'pays and receives nothing',
  inbound: 'receives nothing',
  outbound: 'pays nothing',
} as const

export const moneyDeclarations = {
  'case list': readCommand('List the open cases, oldest first.', {}),
  'case show': readCommand('Show a case, with candidates for its money.', caseOptions),
  'case history': readCommand('List every decision about a case.', caseOptions),
  'case propose': changeCommand(
    'all',
    'Propose the resolution of a case.',
    {
      ...caseOptions,
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
      ...{ note, staff, 'to-partner': optional(id('The partner that it belongs to.')) },
      ...{ payout: optional({ ...payout, text: 'The payout that it pays.' }), customer: optional(customer) },
      disposition: optional(
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
  'case approve': changeCommand(
    'all',
    'Approve the proposal of another person.',
    { ...caseOptions, staff, proposal: optional(id('The proposal that you have read.')) },
    { byKind: true },
  ),
  'case reject': changeCommand(
    'all',
    'Reject a proposal, or withdraw your own.',
    { ...caseOptions, note, staff },
    { byKind: true },
  ),
  'payment find': readCommand(
    'Find payouts by an id, a reference or an amount.',
    {
      id: optional(text('The id of the payout or of its instruction, or the end-to-end id.', 'ID')),
      reference: optional(text('The reference of the payout.')),
      amount: optional(money('The amount, with --currency.', '100.00')),
      currency: optional(currency),
      day: optional(dayOption),
      partner: optional(partner),
    },
    {
      examples: ['--id ID', '--reference INVOICE-7 --day 2026-11-20', '--amount 100.00 --currency EUR'],
    },
  ),
  'payment retry': changeCommand('finance', 'Make the next attempt of a payout due now.', payoutOptions),
  'payment end': changeCommand(
    'finance',
    'End a payment by a written statement of the bank.',
    {
      ...payoutOptions,
      outcome: choice('What the bank says.', 'paid', 'not-paid'),
      evidence: file('The document of the bank. Its name and its hash are recorded.'),
      note,
    },
    {
      second: 'always',
      examples: ['--partner ID --payout ID --outcome paid --evidence letter.pdf --note "Letter of 3 May"'],
    },
  ),
  'payment undo': changeCommand(
    'finance',
    'Take the debit of a bank from a payment that it was matched with by mistake.',
    { ...payoutOptions, note },
    { second: 'always' },
  ),
  'payment recall': changeCommand('finance', 'Recall a paid payout from the bank.', {
    ...{ ...payoutOptions, reason: recallReason, note },
  }),
  'deposit undo': changeCommand(
    'finance',
    'Take a credit from what it was matched with by mistake.',
    {
      partner,
      reference: text('The transaction of the deposit.'),
      part: optional(id('The part of the session.')),
      note,
    },
    { second: 'always' },
  ),
  'bank files': readCommand('List the newest files of each bank.', { connector: optional(connector) }),
  'bank payment': readCommand('Show the state of a payment at a file-based bank.', payoutOptions),
  'bank recall': changeCommand('finance', 'Send a recall to a file-based bank.', {
    ...{ ...payoutOptions, reason: recallReason, staff },
  }),
  'bank recall letter': readCommand('Write the letter of a recall, for a bank that takes no files of recalls.', {
    ...{ ...payoutOptions, to: file('The file to write.', 'FILE.pdf') },
  }),
  'bank recall sent': changeCommand('finance', 'Record that the letter of a recall is sent.', {
    ...payoutOptions,
    note,
  }),
  'bank recall answer': changeCommand('finance', "Record the bank's answer to the letter.", {
    ...payoutOptions,
    outcome: choice('What the bank says.', 'accepted', 'refused'),
    reason: optional(text("The bank's code of ISO 20022.", 'CODE')),
  }),
  'bank file take': changeCommand('finance', 'Take a file that was quarantined.', bankCase, { second: 'always' }),
  'bank entry cancel': changeCommand('finance', 'Cancel an entry that the bank does not have.', bankCase, {
    second: 'always',
  }),
  reconcile: readCommand(
    'Print whether the banks and the ledger agree, with every item.',
    {
      connector: optional(connector),
      account: optional(account),
      at: optional(dayOrTime('The end of what is compared. Default: now.')),
      format: withDefault(choice('The form of the output.', 'json', 'csv'), 'json'),
    },
    { examples: ['--at 2026-11-20 --format csv'] },
  ),
  'safeguarding accounts set': changeCommand('finance', 'Designate a bank account that holds client money.', {
    account,
    currency,
    staff,
    from: optional(day('The first day. Default: today.')),
    until: optional(day('The day on which the designation ends.')),
  }),
  'safeguarding accounts list': readCommand('List the designated accounts.', {}),
  'safeguarding run': changeCommand(
    'finance',
    'Compute the safeguarding of a day.',
    { day: dayOption, at: optional(time('The time of the computation, of a day that is not over.')) },
    { scheduled: true },
  ),
  'safeguarding show': readCommand('Show the records of a day, with their versions.', {
    ...{ day: dayOption, currency: optional(currency) },
  }),
  'safeguarding export': readCommand('Write the signed records of a day to a file.', {
    ...{ day: dayOption, currency: optional(currency), to: file('The file to write.') },
    format: withDefault(choice('The form of the file.', 'json', 'csv', 'pdf'), 'json'),
  }),
  'safeguarding verify': readCommand('Verify an exported file, without a database.', {
    from: file('The exported file.'),
    key: optional(text('The public key that must have signed it.', 'PUBLIC_KEY')),
  }),
  'ledger balances': readCommand('List the balances of a partner, now or at a time.', {
    ...{ partner, at: optional(time('The time. Default: now.')) },
  }),
  'ledger statement': readCommand(
    'Print the statement of an account of the ledger.',
    {
      ...{ partner, currency },
      account: withDefault(
        text('The account: balance, suspense, transfers, parts, fees, fx or settlement.CONNECTOR.', 'NAME'),
        'balance',
      ),
      from: optional(time('The first time.')),
      to: optional(time('The time before which it ends.')),
      format: withDefault(choice('The form of the output.', 'table', 'csv'), 'table'),
    },
    { examples: ['--partner ID --currency EUR --from 2026-11-30T23:00:00Z --to 2026-12-31T23:00:00Z --format csv'] },
  ),
  'ledger check': readCommand('Compare all rows that record the same money.', {
    partner: optional({ ...partner, text: 'Only this partner.' }),
    from: optional(text('The last position of an interrupted check, which continues there.', 'POSITION')),
  }),
  'fx position': readCommand("Show the operator's open position in each currency.", {}),
  'account block': changeCommand(
    'money',
    'Block a balance or the account of a customer. Its waiting payouts are cancelled.',
    {
      ...stateChange,
      direction: withDefault(choice('What is blocked.', 'both', 'inbound', 'outbound'), 'both'),
    },
    {
      hidden: true,
      cuts: (given) =>
        `blocks ${accountText(given)} at once: it ${blockEffects[given.direction as keyof typeof blockEffects] ?? blockEffects.both}${given.direction === 'inbound' ? '' : ', and its waiting payouts are cancelled'}`,
      examples: ['--partner ID --currency EUR --direction outbound --reason CourtOrder --staff NAME --yes'],
    },
  ),
  'account unblock': changeCommand('money', 'End a block.', stateChange, { second: 'on', hidden: true }),
  'account close': changeCommand('money', 'Close an empty account for ever.', stateChange, {
    second: 'on',
    hidden: true,
    cuts: (given) => `closes ${accountText(given)} for ever`,
  }),
  'account list': readCommand('List the accounts of a partner that are not active.', { partner }),
  'ibans import': changeCommand('finance', "Import a bank's file of IBANs into a pool.", {
    ...{ file: file('The file of the bank.'), pool: name('The pool.'), currency: withDefault(currency, 'EUR'), staff },
    ...{
      connector: optional(connector),
      partner: optional({ ...partner, text: 'Only this partner takes from the pool.' }),
    },
    'skip-bad': flag('Import the good lines of a file with bad ones.'),
  }),
  'ibans list': readCommand('List the pools of IBANs.', {}),
  'ibans withdraw': changeCommand('finance', 'Withdraw IBANs from a pool. Assigned ones stay.', {
    ...{ pool: name('The pool.'), iban: optional(iban('Only this one.')), partner: optional(partner), staff },
  }),
  'wallet-key create': changeCommand('admin', 'Create the keys of the chain connectors.', {}),
  'travel-rule show': readCommand('Show the parties of a payment on a chain.', {
    hash: text('The transaction.', 'HASH'),
  }),
}

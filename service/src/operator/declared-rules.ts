/** The declarations of commands for the rules of payouts and partners, screening, monitoring, directories, keys and backups. */
import type { Capability } from '@partner-payments/wire'
import {
  balances,
  capabilities,
  changeCommand,
  choice,
  choices,
  countries,
  currency,
  customer,
  day,
  file,
  flag,
  id,
  integer,
  optional,
  money,
  name,
  note,
  withDefault,
  partner,
  positive,
  readCommand,
  staff,
  text,
  time,
  unrecorded,
} from './declaration.ts'

const ruleOptions = { partner, id: id('The rule, as the list shows it.') }
const state = choice('The state of the verification of a customer.', 'Complete', 'Incomplete', 'Invalid')
const balanceOptions = { partner, currency }
const allCurrencies = {
  'all-currencies': flag('Payouts in every currency count, in --currency, by the rate of the day.'),
}
const countryRules = {
  countries: countries('The countries, by their codes of two letters.'),
  for: choices('What the rule is for.', 'payouts', 'deposits', 'customers'),
  staff,
}
const list = name('The name of a list of politically exposed persons.')
const rule = { id: id('The rule of monitoring.') }
const version = optional(integer('The version that you have read.', 1, 999_999_999))
const days = { from: day('The first day.'), until: day('The last day.') }
const payerRuleOptions = {
  banks: choice(
    'Where the bank of the payer is: in the European Economic Area, or outside or unknown.',
    'inside',
    'outside',
  ),
  currency,
  above: optional(money('Payments above this amount. Default: all.', '1000.00')),
}
const hit = { partner, id: id('The hit.') }

/** Listed here because the help of commands does not load the contract. */
const everyCapability: Readonly<Record<Capability, true>> = {
  OpenAccount: true,
  Receive: true,
  Pay: true,
  Convert: true,
}

export const ruleDeclarations = {
  'limit set': changeCommand(
    'finance',
    'Set a limit of payouts, or the amount of one that exists.',
    {
      ...{ partner, scope: choice('Whose payouts it limits.', 'partner', 'customer', 'beneficiary') },
      ...{ period: choice('The period.', 'payment', 'day', 'month'), currency, amount: positive('The most.') },
      customer: optional({ ...customer, text: 'Only this customer, with --scope customer.' }),
      state: optional({ ...state, text: 'Only customers in this state of verification, with --scope customer.' }),
      beneficiary: optional(text('Only this beneficiary, with --scope beneficiary.', 'ID')),
      ...allCurrencies,
    },
    {
      second: 'on',
      examples: [
        '--partner ID --scope partner --period month --currency EUR --amount 250000.00',
        '--partner ID --scope partner --period day --currency EUR --amount 50000.00 --all-currencies',
        '--partner ID --scope customer --customer ID --period payment --currency EUR --amount 500.00',
      ],
    },
  ),
  'limit list': readCommand('List the limits of a partner.', { partner }),
  'limit remove': changeCommand('finance', 'Remove a limit.', ruleOptions, { second: 'on' }),
  'fee set': changeCommand(
    'finance',
    'Set a fee of the payouts of a partner, from a time on.',
    {
      ...balanceOptions,
      rail: withDefault(choice('The rail of the payouts.', 'any', 'Sepa', 'Swift', 'Wallet'), 'any'),
      fixed: optional(money('The fixed part.', '0.20')),
      'basis-points': withDefault(integer('The part by the amount, in hundredths of a percent.', 0, 10_000), 0),
      min: optional(money('The least.')),
      max: optional(money('The most.', '20.00')),
      from: optional(time('When it begins. Default: now.')),
    },
    { second: 'on', examples: ['--partner ID --currency USD --rail Swift --fixed 15.00 --from 2027-01-01T00:00:00Z'] },
  ),
  'fee list': readCommand('List the fees of a partner.', { partner }),
  'fee remove': changeCommand('finance', 'Remove a fee.', ruleOptions, { second: 'on' }),
  'approval set': changeCommand(
    'finance',
    'Make payouts wait for a second person of the partner.',
    {
      ...balanceOptions,
      above: optional(money('Payouts above this amount.', '10000.00')),
      'above-day': optional(money('What leaves above this sum in a day.', '50000.00')),
      'above-bulk': optional(money('Bulk payouts above this sum.', '50000.00')),
      'beneficiary-hours': optional(integer('Payouts to a beneficiary that is younger than these hours.', 1, 24 * 365)),
      'per-person': optional(positive('The largest sum that a person may approve in a day.', '50000.00')),
      'expires-hours': withDefault(integer('Hours until a payout without an approval is cancelled.', 1, 24 * 30), 72),
      passkey: flag('A person approves with a passkey.'),
      'payee-mismatch': flag('Payouts to a payee whose name does not match.'),
      ...allCurrencies,
    },
    { second: 'on', examples: ['--partner ID --currency EUR --above 10000.00 --per-person 50000.00'] },
  ),
  'approval list': readCommand('List the rules of approval of a partner.', { partner }),
  'approval remove': changeCommand('finance', 'Remove a rule of approval.', ruleOptions, { second: 'on' }),
  'cooling-off set': changeCommand(
    'finance',
    'Set the hours during which a new beneficiary is not paid.',
    { ...balanceOptions, hours: withDefault(integer('The hours.', 1, 24 * 365), 24) },
    { second: 'on' },
  ),
  'cooling-off list': readCommand('List the cooling-offs of a partner.', { partner }),
  'cooling-off remove': changeCommand('finance', 'Remove a cooling-off.', ruleOptions, { second: 'on' }),
  'gate set': changeCommand(
    'compliance',
    'Set what the customers of a partner may do in a state of their verification.',
    {
      ...{ partner, state, allow: capabilities('What they may do.') },
      'hold-up-to': optional(balances('The largest balance of a customer, by currency.')),
      'hold-up-to-in-all': optional(balances('The largest sum over all currencies, in the reference currency.')),
    },
    {
      second: 'on',
      cuts: ({ allow = '', ...given }) =>
        Object.keys(everyCapability).every((each) => allow.split(',').includes(each))
          ? undefined
          : `lets the ${given.state} customers of ${given.partner} do only this, from now on: ${allow}`,
      examples: ['--partner ID --state Incomplete --allow OpenAccount,Receive,Pay,Convert --hold-up-to EUR=150.00'],
    },
  ),
  'gate list': readCommand('List the gates of a partner.', { partner }),
  'gate remove': changeCommand(
    'compliance',
    'Restore the default of the installation for a state.',
    { partner, state },
    {
      second: 'on',
      cuts: (given) =>
        `lets the ${given.state} customers of ${given.partner} do only what KYC_GATES allows, from now on`,
    },
  ),
  'segregation list': readCommand('List whose money pays, by currency.', { partner }),
  'segregation plan': readCommand('Show what prevents a balance from being segregated.', balanceOptions),
  'segregation cover': changeCommand(
    'finance',
    'Move own money of a partner to the customers that paid out more than they paid in.',
    balanceOptions,
    { second: 'always' },
  ),
  'segregation set': changeCommand(
    'finance',
    'Change whose money pays: that of each customer, or all of it.',
    { ...balanceOptions, mode: choice('The mode of the balance.', 'segregated', 'pooled') },
    { second: 'on' },
  ),
  'screening load': changeCommand(
    'compliance',
    'Load a list of sanctions, or of politically exposed persons.',
    {
      from: file('The list of the UN, of the EU (1.1), SDN.XML or SDN_ADVANCED.XML; with --name targets.simple.csv.'),
      name: optional(list),
      staff,
    },
    { scheduled: true },
  ),
  'screening remove': changeCommand(
    'compliance',
    'Empty a list of politically exposed persons.',
    { name: list, staff },
    { second: 'on' },
  ),
  'screening country set': changeCommand(
    'compliance',
    'Set the rules of countries.',
    { ...countryRules, action: choice('What is done.', 'refuse', 'review') },
    { second: 'on', examples: ['--countries IR,KP --for payouts,deposits --action refuse --staff NAME'] },
  ),
  'screening country list': readCommand('List the rules of countries.', {}),
  'screening country remove': changeCommand('compliance', 'Remove rules of countries.', countryRules, { second: 'on' }),
  'screening status': readCommand('Show the lists, and what is not screened yet.', {}),
  'screening rescreen': readCommand('Screen all names that are due, and print the changes.', {}),
  'screening hits': readCommand('List the open hits, oldest first.', {}),
  'screening show': readCommand('Show a hit, with its words and decisions.', hit),
  'screening excluded': readCommand('List the matches of common names that a second datum excludes.', { partner }),
  'screening report': readCommand('Measure what the loaded lists find, as a document for a regulator.', {
    format: withDefault(choice('The form of the report.', 'text', 'json'), 'text'),
    names: withDefault(integer('Names that are written in each form.', 1, 1000), 100),
    seed: withDefault(integer('Seed by which names are drawn.', 1, 1_000_000), 1),
  }),
  'screening decide': changeCommand(
    'all',
    'Decide a hit.',
    {
      ...{ ...hit, outcome: choice('The decision.', 'clear', 'confirm'), note, staff },
      disposition: choice(
        'What you found: to clear or to confirm a name, and to clear or to confirm a country.',
        ...(['name_differs', 'birth_differs', 'country_differs', 'document_differs', 'kind_differs'] as const),
        ...(['data_agree', 'account_agrees', 'not_excluded', 'licensed', 'not_concerned', 'prohibited'] as const),
      ),
    },
    {
      byKind: true,
      hidden: true,
      examples: [
        '--partner ID --id ID --outcome clear --disposition birth_differs --note "Born in 1975, not 1955" --staff NAME',
      ],
    },
  ),
  'payer-data set': changeCommand(
    'compliance',
    'Set what happens to incoming payments that lack data of their payer.',
    {
      ...payerRuleOptions,
      measure: choice('Credit it, let it wait for an answer, or send it back.', 'accept', 'ask', 'reject'),
      days: withDefault(integer('Days until money without an answer goes back.', 1, 90), 3),
    },
    {
      second: 'on',
      examples: [
        '--banks outside --currency EUR --above 1000.00 --measure ask',
        '--banks outside --currency USD --measure reject',
      ],
    },
  ),
  'payer-data list': readCommand('List the rules for payments that lack data of their payer.', {}),
  'payer-data remove': changeCommand(
    'compliance',
    'Remove a rule for payments that lack data of their payer.',
    payerRuleOptions,
    { second: 'on' },
  ),
  'payer-data waiting': readCommand('List payments that wait for data of their payer.', {}),
  'payer-data decide': changeCommand(
    'compliance',
    'Record the answer about the payer of a payment, or that there is none.',
    {
      ...{ partner, id: id('The payment, as the list shows it. Its case has the same id.') },
      outcome: choice('The data are there, or the money goes back.', 'received', 'refused'),
      name: unrecorded(optional(text('The name of the payer.'))),
      account: unrecorded(optional(text('The account of the payer.'))),
      address: unrecorded(optional(text('The address of the payer, with its country.'))),
      identification: unrecorded(optional(text('Date and place of birth, or a number of the payer.'))),
      note,
    },
    { second: 'always', hidden: true },
  ),
  'payer-data banks': readCommand('Count the payments that lacked data of their payer, by bank.', {
    since: time('The start of the period.'),
  }),
  'monitoring rule set': changeCommand('compliance', 'Save a new rule of monitoring, or the next version of a rule.', {
    from: optional(file('A file with the rule. Or --rule.', 'FILE.json')),
    rule: optional(text('The rule. Or --from.', 'JSON')),
    ...{ id: optional(id('The rule whose next version it is.')), version, staff },
  }),
  'monitoring rule list': readCommand('List the rules of monitoring, with their backtests.', {}),
  'monitoring rule backtest': changeCommand(
    'compliance',
    'Run the last version of a rule over past days. Opens no alert.',
    { ...rule, ...days, staff },
    { scheduled: true },
  ),
  'monitoring backtest start': changeCommand('compliance', 'Queue a backtest of a rule for a worker.', {
    ...{ ...rule, ...days, version, staff },
  }),
  'monitoring rule on': changeCommand('compliance', 'Propose to turn a rule on, or approve that.', {
    ...{ ...rule, version, staff },
  }),
  'monitoring rule off': changeCommand('compliance', 'Propose to turn a rule off, or approve that.', {
    ...{ ...rule, version, staff },
  }),
  'monitoring alert list': readCommand('List the alerts of a partner.', { partner }),
  'monitoring alert export': changeCommand(
    'compliance',
    'Write the transactions of the alerts of a partner to a file, or one alert as a report by goAML.',
    {
      ...{ partner, to: file('The file to write.', 'FILE') },
      format: withDefault(choice('The form of the file.', 'csv', 'goaml'), 'csv'),
      alert: optional(id('Only this alert. Required for goaml.')),
    },
    { scheduled: true, hidden: true },
  ),
  'monitoring numbers': readCommand(
    'Print what is open, what was decided and how long it took, by month.',
    {
      months: withDefault(integer('The months, this one included.', 1, 24), 6),
      format: withDefault(choice('The form of the output.', 'json', 'csv'), 'json'),
    },
    { examples: ['--months 24 --format csv'] },
  ),
  'bic load': changeCommand(
    'finance',
    'Load the directory of BICs.',
    { from: file('A CSV file with the header country,bank code,BIC,name.'), staff },
    { scheduled: true },
  ),
  'bic show': readCommand('Show the directory of BICs.', {}),
  'sort-codes load': changeCommand(
    'finance',
    'Load the tables of the modulus check.',
    { from: file('The file VALACDOS.'), substitutes: optional(file('The file SCSUBTAB.')), staff },
    { scheduled: true },
  ),
  'sort-codes show': readCommand('Show the tables of the modulus check.', {}),
  'audit verify': readCommand('Compare the audit logs with their chains and signed heads.', {
    partner: optional(partner),
  }),
  'key list': readCommand('List the master keys, with what each seals.', {}),
  'key reseal': changeCommand('admin', 'Seal every secret under the first master key.', {}),
  'backup create': readCommand('Back up the embedded database.', {}),
  'backup restore': readCommand('Restore the embedded database from a backup.', {
    from: file('The folder of the backups.', 'FOLDER'),
    until: optional(time('The time. Default: the last one.')),
  }),
}

/** The declarations of commands for people and credentials: sign-in, staff, changes that wait, partners and their access. */
import type { DecidedKind } from '../people/staff/index.ts'
import {
  changes,
  choice,
  choices,
  customer,
  email,
  file,
  flag,
  id,
  integer,
  maybe,
  name,
  note,
  or,
  partner,
  permissions,
  reads,
  scheduledCommands,
  staff,
  text,
  time,
  tokenFile,
  unrecorded,
} from './declaration.ts'

const change = { id: id('The change.') }
const person = { id: id('The person, as `staff list` shows.') }
const account = { partner, id: id('The service account.') }
const role = choice('The role of the person.', 'support', 'compliance', 'finance', 'admin')
const overlap = or(integer('Hours for which the old credential still works.', 0, 24 * 90), 24)
const publicKey = unrecorded(
  maybe(file('A public RSA key of the partner, instead of a key that the service makes.', 'FILE.pem')),
)
const ends = maybe(time('When they end. Default: at once.'))
const at = (moment: string | undefined) => (moment === undefined ? 'at once' : `at ${moment}`)
const overlapping = (hours = '24') => (hours === '0' ? 'at once' : `after ${hours} hours`)

/** Named here, because the help of commands does not load the modules. */
const everyKind: Readonly<Record<DecidedKind, true>> = {
  unknown_payment: true,
  contradiction: true,
  amount_differs: true,
  credit_reversed: true,
  bank_fee: true,
  doubled: true,
  unknown_debit: true,
  file_unreadable: true,
  file_refused: true,
  message_differs: true,
  statement_gap: true,
  statement_overlap: true,
  sum_differs: true,
  payment_missing: true,
  foreign_currency: true,
  entry_unclear: true,
  announced_missing: true,
  payee_mismatch: true,
  recall_letter: true,
  unexplained: true,
  sanctions_hold: true,
  account_blocked: true,
  customer_not_verified: true,
  safeguarding: true,
  monitoring_alert: true,
  payer_data_missing: true,
  screening_hit: true,
}
const decidedKinds = Object.keys(everyKind) as readonly DecidedKind[]

export const peopleDeclarations = {
  'sign-in': reads('Sign in by a link to the desk, for the commands that follow.', { 'token-file': maybe(tokenFile) }),
  'sign-out': reads('End the sign-in.', { 'token-file': maybe(tokenFile) }),
  who: reads('Print who has signed in.', { 'token-file': maybe(tokenFile) }),
  commands: reads('List all commands with their summaries, or as a page with roles and options.', {
    markdown: flag('The page, in Markdown.'),
  }),
  'completion bash': reads('Print the completion of commands for bash.', {}),
  'completion zsh': reads('Print the completion of commands for zsh.', {}),
  'completion fish': reads('Print the completion of commands for fish.', {}),
  'change list': reads('List the changes that wait for a second person.', {}),
  'change show': reads('Show one change.', change),
  'change approve': changes('all', 'Approve the change of another person, and carry it out.', change),
  'change reject': changes('all', 'Reject a change, or withdraw your own.', { ...change, note }),
  'change run': changes('all', 'Carry out your own approved change, and print its secret.', change),
  'staff invite': changes(
    'admin',
    'Invite a person. Prints a link that works once, for 24 hours.',
    { email: email('The address of the person.'), name: name('The full name of the person.'), role },
    { second: 'on', secret: true },
  ),
  'staff list': reads('List the accounts of staff.', {}),
  'staff role': changes('admin', 'Change the role of a person.', { ...person, role }, { second: 'on' }),
  'staff remove': changes('admin', 'Remove the account of a person.', person, {
    second: 'on',
    cuts: (given) => `removes ${given.id}, whose sessions and tokens end at once`,
  }),
  'decider list': reads('List the roles that decide each kind of case, and hits.', {}),
  'decider set': changes(
    'admin',
    'Change the roles that decide a kind of case, or hits. An admin always does.',
    {
      kind: choice('The kind.', ...decidedKinds),
      roles: maybe(choices('The roles besides admin. Default: none.', 'support', 'compliance', 'finance')),
      staff,
    },
    { second: 'always', examples: ['--kind payee_mismatch --roles finance,compliance --staff NAME'] },
  ),
  'staff end-sessions': changes('admin', 'End the sessions and commands of a person, who signs in again.', person, {
    cuts: (given) => `ends every session and token of ${given.id} at once`,
  }),
  'staff token create': changes(
    'admin',
    'Write a token for the commands of a schedule to a file.',
    {
      commands: scheduledCommands('The commands that it may run.'),
      to: file('The file to write.'),
      days: or(integer('Days for which it works.', 1, 366), 90),
    },
    { examples: ['--commands "screening load,bic load" --to nightly.token'] },
  ),
  'staff token list': reads('List the tokens that work now, of all persons.', {}),
  'staff token end': changes(
    'admin',
    'End a token.',
    { id: id('The token.') },
    { cuts: (given) => `ends the token ${given.id} at once: the schedules that use it fail` },
  ),
  'partner create': changes('admin', 'Create a partner.', { name: text('The name of the partner.', 'NAME') }),
  'partner list': reads('List the partners.', {}),
  'partner owners': reads('Show the names under which a partner is screened.', { partner }),
  'partner owners set': changes(
    'compliance',
    'Replace the legal name and the owners of a partner, who are screened with it.',
    {
      partner,
      'legal-name': unrecorded(
        maybe(text('Its legal name, if that is not the name that it was created with.', 'NAME')),
      ),
      owners: unrecorded(
        maybe(text('The full names of its owners, separated by semicolons. Default: none.', '"NAME; NAME"')),
      ),
    },
  ),
  'partner rotate': changes(
    'admin',
    'Replace every valid service account of a partner.',
    { partner, 'overlap-hours': overlap },
    {
      second: 'on',
      secret: true,
      cuts: (given) =>
        `replaces every service account of ${given.partner}: the present credentials are refused with 401 ${overlapping(given['overlap-hours'])}`,
    },
  ),
  'partner expire': changes(
    'admin',
    'End every credential of a partner.',
    { partner, at: ends },
    {
      cuts: (given) =>
        `ends every credential of ${given.partner} ${at(given.at)}: its requests are then refused with 401`,
      examples: ['--partner ID --at 2027-01-01T00:00:00Z'],
    },
  ),
  'partner export': changes(
    'admin',
    'Write all rows of a partner to a file, for another cell.',
    {
      partner,
      to: file('The file to write.'),
      'key-file': unrecorded(file('A file with 32 bytes in Base64, which seal the secrets in the file.')),
      remove: flag('Remove the partner from this cell.'),
    },
    {
      cuts: (given) =>
        given.remove === undefined
          ? undefined
          : `closes ${given.partner} and removes it from this cell: its requests are refused until the file is imported elsewhere`,
    },
  ),
  'partner import': changes('admin', 'Import the file of a partner from another cell.', {
    from: file('The file of `partner export`.'),
    'key-file': unrecorded(file('The file with the key of the export.')),
    copy: flag('Import a copy of a partner that stays in its cell, for tests.'),
  }),
  'service-account create': changes(
    'admin',
    'Create a service account. Prints its credential once.',
    {
      ...{ partner, name: text('The name of the service account.', 'NAME') },
      ...{ permissions: permissions('What it may do.'), 'public-key': publicKey },
    },
    { second: 'on', secret: true, examples: ['--partner ID --name "Back office" --permissions all'] },
  ),
  'service-account list': reads('List the service accounts of a partner.', { partner }),
  'service-account rotate': changes(
    'admin',
    'Replace a service account.',
    { ...account, 'overlap-hours': overlap, 'public-key': publicKey },
    {
      second: 'on',
      secret: true,
      cuts: (given) =>
        `replaces the service account ${given.id} of ${given.partner}: the present credential is refused with 401 ${overlapping(given['overlap-hours'])}`,
    },
  ),
  'service-account expire': changes(
    'admin',
    'End a service account at a time.',
    { ...account, at: ends },
    {
      cuts: (given) =>
        `ends the service account ${given.id} of ${given.partner} ${at(given.at)}: its requests are then refused with 401`,
    },
  ),
  'service-account revoke': changes('admin', 'End a service account for ever, at once.', account, {
    cuts: (given) =>
      `revokes the service account ${given.id} of ${given.partner} at once: its requests are refused with 401`,
  }),
  impersonate: changes(
    'all',
    'Open a session that reads as a partner. Its Admins are told.',
    { partner, note, staff, minutes: or(integer('Minutes for which it works.', 1, 60), 15) },
    { second: 'on', secret: true },
  ),
  'member recover': changes(
    'support',
    'Begin the recovery of an Admin who is locked out. The link is mailed after 24 hours.',
    {
      partner,
      email: email('The address of the Admin.'),
      'identified-by': text('How you made sure who asks.'),
      note,
      staff,
    },
    { second: 'always' },
  ),
  'member recovery cancel': changes('all', 'Cancel a recovery before its link is used.', {
    ...{ partner, id: id('The recovery.'), note, staff },
  }),
  'member recovery list': reads('List the recoveries of a partner.', { partner }),
  'review set': changes(
    'compliance',
    'Record the review of a customer of today, and its class of risk.',
    {
      ...{ partner, customer, risk: choice('The class of risk.', 'low', 'medium', 'high'), staff },
      months: maybe(integer('Months until the next review. Default: 12 (high), 36 (medium), 60 (low).', 1, 120)),
    },
    { hidden: true },
  ),
  'review list': reads('List the reviews of the customers of a partner.', { partner }),
  'review overdue': reads('List the customers whose review is overdue.', { partner: maybe(partner) }),
  'review missing': reads('List the customers that were never reviewed.', { partner }),
}

/**
 * The declarations of commands for people and credentials: sign-in, staff, pending changes, partners and their access.
 */
import type { DecidedKind } from '../people/staff/index.ts'
import {
  changeCommand,
  choice,
  choices,
  customer,
  email,
  file,
  flag,
  id,
  integer,
  optional,
  name,
  note,
  withDefault,
  partner,
  permissions,
  readCommand,
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
const overlap = withDefault(integer('Hours for which the old credential still works.', 0, 24 * 90), 24)
const publicKey = unrecorded(
  optional(file('A public RSA key of the partner, instead of a key that the service makes.', 'FILE.pem')),
)
const ends = optional(time('When they end. Default: at once.'))
const at = (moment: string | undefined) => (moment === undefined ? 'at once' : `at ${moment}`)
const overlapping = (hours = '24') => (hours === '0' ? 'at once' : `after ${hours} hours`)

/** Listed here because the help of commands does not load the modules. */
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
  'sign-in': readCommand('Sign in by a link to the desk, for the commands that follow.', {
    'token-file': optional(tokenFile),
  }),
  'sign-out': readCommand('End the sign-in.', { 'token-file': optional(tokenFile) }),
  who: readCommand('Print who has signed in.', { 'token-file': optional(tokenFile) }),
  commands: readCommand('List all commands with their summaries, or as a page with roles and options.', {
    markdown: flag('The page, in Markdown.'),
  }),
  'completion bash': readCommand('Print the completion of commands for bash.', {}),
  'completion zsh': readCommand('Print the completion of commands for zsh.', {}),
  'completion fish': readCommand('Print the completion of commands for fish.', {}),
  'change list': readCommand('List the changes that wait for a second person.', {}),
  'change show': readCommand('Show one change.', change),
  'change approve': changeCommand('all', 'Approve the change of another person, and carry it out.', change),
  'change reject': changeCommand('all', 'Reject a change, or withdraw your own.', { ...change, note }),
  'change run': changeCommand('all', 'Carry out your own approved change, and print its secret.', change),
  'staff invite': changeCommand(
    'admin',
    'Invite a person. Prints a link that works once, for 24 hours.',
    {
      email: unrecorded(email('The address of the person.')),
      name: unrecorded(name('The full name of the person.')),
      role,
    },
    { second: 'on', secret: true },
  ),
  'staff list': readCommand('List the accounts of staff.', {}),
  'staff role': changeCommand('admin', 'Change the role of a person.', { ...person, role }, { second: 'on' }),
  'staff remove': changeCommand('admin', 'Remove the account of a person.', person, {
    second: 'on',
    cuts: (given) => `removes ${given.id}, whose sessions and tokens end at once`,
  }),
  'decider list': readCommand('List the roles that decide each kind of case, and hits.', {}),
  'decider set': changeCommand(
    'admin',
    'Change the roles that decide a kind of case, or hits. An admin always does.',
    {
      kind: choice('The kind.', ...decidedKinds),
      roles: optional(choices('The roles besides admin. Default: none.', 'support', 'compliance', 'finance')),
      staff,
    },
    { second: 'always', examples: ['--kind payee_mismatch --roles finance,compliance --staff NAME'] },
  ),
  'staff end-sessions': changeCommand(
    'admin',
    'End the sessions and commands of a person, who signs in again.',
    person,
    {
      cuts: (given) => `ends every session and token of ${given.id} at once`,
    },
  ),
  'staff token create': changeCommand(
    'admin',
    'Write a token for the commands of a schedule to a file.',
    {
      commands: scheduledCommands('The commands that it may run.'),
      to: file('The file to write.'),
      days: withDefault(integer('Days for which it works.', 1, 366), 90),
    },
    { examples: ['--commands "screening load,bic load" --to nightly.token'] },
  ),
  'staff token list': readCommand('List the tokens that work now, of all persons.', {}),
  'staff token end': changeCommand(
    'admin',
    'End a token.',
    { id: id('The token.') },
    { cuts: (given) => `ends the token ${given.id} at once: the schedules that use it fail` },
  ),
  'partner create': changeCommand('admin', 'Create a partner.', { name: text('The name of the partner.', 'NAME') }),
  'partner list': readCommand('List the partners.', {}),
  'partner owners': readCommand('Show the names under which a partner is screened.', { partner }),
  'partner owners set': changeCommand(
    'compliance',
    'Replace the legal name and the owners of a partner, who are screened with it.',
    {
      partner,
      'legal-name': unrecorded(
        optional(text('Its legal name, if that is not the name that it was created with.', 'NAME')),
      ),
      owners: unrecorded(
        optional(text('The full names of its owners, separated by semicolons. Default: none.', '"NAME; NAME"')),
      ),
    },
  ),
  'partner rotate': changeCommand(
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
  'partner expire': changeCommand(
    'admin',
    'End every credential of a partner.',
    { partner, at: ends },
    {
      cuts: (given) =>
        `ends every credential of ${given.partner} ${at(given.at)}: its requests are then refused with 401`,
      examples: ['--partner ID --at 2027-01-01T00:00:00Z'],
    },
  ),
  'partner export': changeCommand(
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
  'partner import': changeCommand('admin', 'Import the file of a partner from another cell.', {
    from: file('The file of `partner export`.'),
    'key-file': unrecorded(file('The file with the key of the export.')),
    copy: flag('Import a copy of a partner that stays in its cell, for tests.'),
  }),
  'service-account create': changeCommand(
    'admin',
    'Create a service account. Prints its credential once.',
    {
      ...{ partner, name: text('The name of the service account.', 'NAME') },
      ...{ permissions: permissions('What it may do.'), 'public-key': publicKey },
    },
    { second: 'on', secret: true, examples: ['--partner ID --name "Back office" --permissions all'] },
  ),
  'service-account list': readCommand('List the service accounts of a partner.', { partner }),
  'service-account rotate': changeCommand(
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
  'service-account expire': changeCommand(
    'admin',
    'End a service account at a time.',
    { ...account, at: ends },
    {
      cuts: (given) =>
        `ends the service account ${given.id} of ${given.partner} ${at(given.at)}: its requests are then refused with 401`,
    },
  ),
  'service-account revoke': changeCommand('admin', 'End a service account for ever, at once.', account, {
    cuts: (given) =>
      `revokes the service account ${given.id} of ${given.partner} at once: its requests are refused with 401`,
  }),
  impersonate: changeCommand(
    'all',
    'Open a session that reads as a partner. Its Admins are told.',
    { partner, note, staff, minutes: withDefault(integer('Minutes for which it works.', 1, 60), 15) },
    { second: 'on', secret: true },
  ),
  'member recover': changeCommand(
    'support',
    'Begin the recovery of an Admin who is locked out. The link is mailed after 24 hours.',
    {
      partner,
      email: unrecorded(email('The address of the Admin.')),
      'identified-by': text('How you verified the identity of the Admin.'),
      note,
      staff,
    },
    { second: 'always' },
  ),
  'member recovery cancel': changeCommand('all', 'Cancel a recovery before its link is used.', {
    ...{ partner, id: id('The recovery.'), note, staff },
  }),
  'member recovery list': readCommand('List the recoveries of a partner.', { partner }),
  'review set': changeCommand(
    'compliance',
    'Record the review of a customer of today, and its class of risk.',
    {
      ...{ partner, customer, risk: choice('The class of risk.', 'low', 'medium', 'high'), staff },
      months: optional(integer('Months until the next review. Default: 12 (high), 36 (medium), 60 (low).', 1, 120)),
    },
    { hidden: true },
  ),
  'review list': readCommand('List the reviews of the customers of a partner.', { partner }),
  'review overdue': readCommand('List the customers whose review is overdue.', { partner: optional(partner) }),
  'review missing': readCommand('List customers without a review.', { partner }),
}

/** Tests that commands act for a signed-in person, and that changes of rules need a second person. */
import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { chmod, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { operatorPartnerId } from '../../service/src/cases/index.ts'
import { hourMs, minuteMs, newId } from '../../service/src/kernel/index.ts'
import { commandNames, getDeclaration, isCommand, commandRoles } from '../../service/src/operator/declarations.ts'
import { addPartner } from '../support/composition.ts'
import { useOperator } from '../support/fixture.ts'
import { pluck } from '../support/pluck.ts'
import { joinedStaff } from '../support/staff.ts'

const operator = await useOperator({ now: new Date(), settings: { TWO_PERSONS: 'on' } })
const { service, folder, printed } = operator
const partner = await addPartner(service, 100_000n)
type JoinedStaff = Awaited<ReturnType<typeof joinedStaff>>
let ada: JoinedStaff
let grace: JoinedStaff
let sam: JoinedStaff

const command = operator.run
const refused = async (expected: RegExp, ...words: readonly string[]) =>
  assert.match(await operator.refused(...words), expected)
const limit = (amount = '500.00') => [
  ...['limit', 'set', '--partner', partner.partnerId, '--scope', 'partner', '--period', 'day'],
  ...['--currency', 'EUR', '--amount', amount],
]
/** Builds a command that decides about a change. */
const change = (verb: 'approve' | 'run' | 'reject', id: string, by: JoinedStaff, note?: string) => [
  ...['change', verb, '--id', id, ...by.as],
  ...(note === undefined ? [] : ['--note', note]),
]
/** Proposes a change. Returns its id. */
const proposed = async (...words: readonly string[]) => String((await printed(...words))['waits'])
/** Returns `--yes` for a command that removes access. */
const yesOf = (name: string) => (isCommand(name) && getDeclaration(name).cuts ? ['--yes'] : [])
const limits = () => service.payoutControls.limits.list(service.db, partner.partnerId)

test('without any account only the first account can be invited; afterwards each change needs a signed-in person', async () => {
  await refused(/sign in first.*the first account: staff invite/, ...limit())
  await refused(/sign in first/, ...limit(), '--staff', 'Sam Staff')
  const invite = ['staff', 'invite', '--name', 'Nora', '--role', 'admin', '--email']
  assert.match(String((await printed(...invite, 'nora@example.com'))['link']), /\/desk\/join\?token=/)
  ada = await joinedStaff(service, folder, 'Ada Admin', 'admin')
  await refused(/sign in first: npm run -s operator -- sign-in$/, ...invite, 'second@example.com')
  await refused(/sign in first/, ...limit(), '--staff', 'Ada Admin')
  // A single admin can invite the next person alone.
  assert.ok((await printed(...invite, 'second@example.com', ...ada.as))['link'])
  grace = await joinedStaff(service, folder, 'Grace Finance', 'finance')
  sam = await joinedStaff(service, folder, 'Sam Support', 'support')
  assert.deepEqual(
    await printed('limit', 'list', '--partner', partner.partnerId),
    [],
    'a command that reads needs no person',
  )
  assert.equal((await printed('who', ...grace.as))['signedIn'], 'Grace Finance')
})

test('a command refuses another name, another role, a file that others can read, and an expired token', async () => {
  await refused(
    /leave out --staff: the command acts for Grace Finance/,
    ...limit(),
    '--staff',
    'Ada Admin',
    ...grace.as,
  )
  await refused(/limit set needs the role finance or admin; Sam Support has support/, ...limit(), ...sam.as)
  await chmod(sam.file, 0o644)
  await refused(/other users can read .*: give it the mode 600/, ...limit(), ...sam.as)
  await chmod(sam.file, 0o600)
  await refused(/--token-file .*ENOENT/, ...limit(), '--token-file', join(folder, 'none'))
  const wrong = join(folder, 'wrong.token')
  await writeFile(wrong, 'AAAA', { mode: 0o600 })
  await refused(/sign in first/, ...limit(), '--token-file', wrong)
  const { token } = await service.staff.commands.request('ada@host')
  await writeFile(wrong, token, { mode: 0o600 })
  await refused(/sign in first/, ...limit(), '--token-file', wrong)
  assert.deepEqual(await limits(), [])
})

test('a change writes nothing until another person approves it, and is carried out exactly once', async () => {
  const made = await printed(...limit(), '--note', 'Contract of May', ...grace.as)
  assert.match(String(made['next']), /another person runs: change approve --id/)
  const id = String(made['waits'])
  assert.deepEqual(await limits(), [])
  await refused(/Another person must approve the change, because you proposed it/, ...change('approve', id, grace))
  await refused(/limit set needs the role finance or admin; yours is support/, ...change('approve', id, sam))
  const list = (await printed('change', 'list')) as unknown as readonly {
    id: string
    status: string
    options: object
  }[]
  const waiting = list.find((each) => each.id === id)
  assert.equal(waiting?.status, 'waits')
  const typed = { scope: 'partner', period: 'day', currency: 'EUR', amount: '500.00', note: 'Contract of May' }
  assert.deepEqual(waiting.options, { ...typed, partner: partner.partnerId })
  const third = await joinedStaff(service, folder, 'Finn Finance', 'finance')
  const answers = await Promise.all([ada, third].map(({ as }) => command('change', 'approve', '--id', id, ...as)))
  assert.deepEqual(answers.map(({ code }) => code).toSorted(), [0, 1])
  assert.match(answers.find(({ code }) => code === 1)?.stderr ?? '', /The change was carried out/)
  assert.deepEqual(pluck(await limits(), 'amount'), [50_000n])
  const { data } = await service.audit.list(partner.partnerId, {})
  const record = data.find(({ action }) => action === 'operator limit set')
  assert.deepEqual(
    [record?.actor.name, record?.actor.id, record?.reason, record?.details?.['change']],
    ['Grace Finance', grace.signed.account.id, 'Contract of May', id],
  )
  assert.ok(['Ada Admin', 'Finn Finance'].includes(String(record?.details?.['approvedBy'])))
  const own = (await service.audit.list(operatorPartnerId, {})).data.find(({ subject }) => subject.id === id)
  assert.deepEqual([own?.action, own?.actor.name], ['operator change propose', 'Grace Finance'])
  await refused(/The change was carried out/, ...change('reject', id, ada, 'Late'))
})

test('a daily maximum per person applies once another person has approved it', async () => {
  const { partnerId } = partner
  const rules = () => service.payoutControls.approvalRules.list(service.db, partnerId)
  const options = ['--partner', partnerId, '--currency', 'GBP', '--per-person', '50000.00']
  const { waits } = await printed('approval', 'set', ...options, ...grace.as)
  assert.deepEqual(await rules(), [])
  await printed(...change('approve', String(waits), ada))
  assert.deepEqual(
    (await rules()).map(({ currency, perPersonAmount }) => [currency, perPersonAmount]),
    [['GBP', 50_000_00n]],
  )
})

test('a command is checked at its proposal and again at its approval', async () => {
  const [made] = await limits()
  assert.ok(made)
  const remove = ['limit', 'remove', '--partner', partner.partnerId, '--id']
  await refused(/No such limit/i, ...remove, newId(), ...grace.as)
  const first = await proposed(...remove, made.id, ...grace.as)
  const second = await proposed(...remove, made.id, ...grace.as)
  assert.deepEqual(await printed(...change('approve', first, ada)), { removed: made.id })
  await refused(/No such limit/i, ...change('approve', second, ada))
  assert.equal((await printed('change', 'show', '--id', second))['status'], 'waits', 'a refused approval is none')
  await printed(...change('reject', second, ada, 'Done already'))
  await refused(/was rejected by Ada Admin/, ...change('approve', second, ada))
})

test('an author withdraws a change, and a change expires after 72 hours', async () => {
  const withdrawn = await proposed(...limit(), ...grace.as)
  await printed(...change('reject', withdrawn, grace, 'Typed wrongly'))
  await refused(/was rejected by Grace Finance/, ...change('approve', withdrawn, ada))
  const propose = (hours: number) => {
    const by = { id: grace.signed.account.id, fullName: 'Grace Finance' }
    service.clock.advance(-hours * hourMs)
    return service.db.transaction((tx) => service.staff.changes.propose(tx, by, { command: 'limit set', options: {} }))
  }
  const old = await propose(73)
  service.clock.advance(73 * hourMs)
  await refused(/has expired/, ...change('approve', old.id, ada))
})

test('a secret is printed exactly once, after an approval, and only to the author of the change', async () => {
  const create = ['service-account', 'create', '--partner', partner.partnerId, '--name', 'Back office']
  const id = await proposed(...create, '--permissions', 'payouts:read', ...ada.as)
  await refused(/No second person has approved/, ...change('run', id, ada))
  await refused(/needs the role admin; yours is finance/, ...change('approve', id, grace))
  const bob = await joinedStaff(service, folder, 'Bob Admin', 'admin')
  const approved = await printed(...change('approve', id, bob))
  assert.match(String(approved['next']), /^Ada Admin runs: change run --id/)
  assert.equal(approved['apiSecret'], undefined)
  await refused(/was approved by Bob Admin/, ...change('approve', id, bob))
  await refused(/Only the author of the change, Ada Admin, may run it/, ...change('run', id, bob))
  const runs = await Promise.all([1, 2].map(() => command(...change('run', id, ada))))
  assert.deepEqual(runs.map(({ code }) => code).toSorted(), [0, 1])
  const { apiSecret } = JSON.parse(runs.find(({ code }) => code === 0)?.stdout ?? '{}') as { apiSecret?: string }
  assert.ok(apiSecret)
  const accounts = await service.access.serviceAccounts(service.db, partner.partnerId)
  assert.equal(accounts.filter(({ name }) => name === 'Back office').length, 1)
})

test('an author who has lost the role cannot run the approved change', async () => {
  const author = await joinedStaff(service, folder, 'Dora Admin', 'admin')
  const create = ['service-account', 'create', '--partner', partner.partnerId, '--name', 'Late', '--permissions', 'all']
  const id = await proposed(...create, ...author.as)
  await printed(...change('approve', id, ada))
  const demotion = ['staff', 'role', '--id', author.signed.account.id, '--role', 'support']
  const demoted = await proposed(...demotion, ...ada.as)
  const other = await joinedStaff(service, folder, 'Ewa Admin', 'admin')
  await printed(...change('approve', demoted, other))
  await refused(/service-account create needs the role admin; yours is support/, ...change('run', id, author))
})

test('a token that cannot be stored is refused in one line', async () => {
  const create = ['staff', 'token', 'create', '--commands', 'bic load', '--to', '/dev/null/x']
  await refused(/^operator: E(?:NOTDIR|EXIST).*; name another file by --token-file$/, ...create, ...ada.as)
})

test('a change keeps the public key of its proposal although the file changes', async () => {
  const file = join(folder, 'partner.pem')
  const { publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const pem = publicKey.export({ type: 'spki', format: 'pem' })
  await writeFile(file, pem)
  const { partnerId } = partner
  const create = ['service-account', 'create', '--partner', partnerId, '--name', 'Keyed', '--permissions', 'all']
  const id = await proposed(...create, '--public-key', file, ...ada.as)
  await writeFile(file, 'another key')
  const second = await joinedStaff(service, folder, 'Cleo Admin', 'admin')
  await printed(...change('approve', id, second))
  assert.ok((await printed(...change('run', id, ada)))['serviceAccountId'])
})

test('removing a person ends their sessions at once, and their pending changes can no longer be approved', async () => {
  const [gone, other] = [
    await joinedStaff(service, folder, 'Gone Admin', 'admin'),
    await joinedStaff(service, folder, 'Other Admin', 'admin'),
  ]
  const id = await proposed(...limit('7.00'), ...gone.as)
  const removal = await proposed('staff', 'remove', '--id', gone.signed.account.id, '--yes', ...ada.as)
  await printed(...change('approve', removal, other))
  await refused(/sign in first/, ...limit(), ...gone.as)
  await refused(/Gone Admin, who proposed it, may no longer do so/, ...change('approve', id, other))
  assert.deepEqual(await limits(), [])
})

test('a block takes effect at once, and an unblock waits for an approval', async () => {
  const account = ['--partner', partner.partnerId, '--currency', 'EUR', '--reason', 'Fraud']
  assert.equal((await printed('account', 'block', ...account, '--yes', ...grace.as))['state'], 'Blocked')
  const id = await proposed('account', 'unblock', ...account, ...grace.as)
  assert.equal((await service.accounts.notActive(service.db, partner.partnerId)).length, 1)
  await printed(...change('approve', id, ada))
  assert.equal((await service.accounts.notActive(service.db, partner.partnerId)).length, 0)
})

test('a schedule token runs only its commands, cannot decide, and can be revoked', async () => {
  const to = join(folder, 'schedule.token')
  const create = ['staff', 'token', 'create', '--to', to, ...ada.as, '--commands']
  await refused(/: case approve is none of them/, ...create, 'case approve')
  const { id } = await printed(...create, 'screening load', '--days', '30')
  const list = new URL('../../service/src/screening/samples/un.xml', import.meta.url).pathname
  await printed('screening', 'load', '--from', list, '--token-file', to)
  await refused(/this token is for screening load/, ...limit(), '--token-file', to)
  const tokens = (await printed('staff', 'token', 'list')) as unknown as readonly { id: string; commands: unknown }[]
  assert.deepEqual(tokens.find((each) => each.id === id)?.commands, ['screening load'])
  assert.ok(!JSON.stringify(tokens).includes((await readFile(to, 'utf8')).trim()))
  await printed('staff', 'token', 'end', '--id', String(id), '--yes', ...ada.as)
  await refused(/sign in first/, 'screening', 'load', '--from', list, '--token-file', to)
})

test('a code is confirmed exactly once, within ten minutes, in any spelling, and signs in for an hour', async () => {
  const { commands } = service.staff
  const asked = await commands.request('ada@host')
  assert.equal(await commands.bearer(asked.token), 'waiting')
  assert.equal((await commands.findRequest(` ${asked.userCode.toLowerCase().replace('-', ' ')}`)).origin, 'ada@host')
  const answers = await Promise.allSettled([ada, grace].map(({ signed }) => commands.confirm(signed, asked.userCode)))
  assert.deepEqual(answers.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected'])
  const late = await commands.request('ada@host')
  service.clock.advance(11 * minuteMs)
  await assert.rejects(commands.confirm(ada.signed, late.userCode), { code: 'not_found' })
  assert.equal(await commands.bearer(late.token), undefined)
  service.clock.advance(50 * minuteMs)
  assert.equal(await commands.bearer(asked.token), undefined)
  service.clock.advance(-61 * minuteMs)
})

test('signing out ends the token and removes its file', async () => {
  const leaver = await joinedStaff(service, folder, 'Lea Finance', 'finance')
  const copy = join(folder, 'copy.token')
  await writeFile(copy, await readFile(leaver.file), { mode: 0o600 })
  assert.deepEqual(await printed('sign-out', ...leaver.as), { signedOut: 'Lea Finance' })
  await assert.rejects(readFile(leaver.file), { code: 'ENOENT' })
  await refused(/sign in first/, ...limit(), '--token-file', copy)
})

test('each command for two people writes nothing before the second person approves', async () => {
  const needTwo = commandNames.filter((name) => getDeclaration(name).second === 'on')
  assert.ok(needTwo.every((name) => commandRoles(name) !== undefined))
  const { partnerId, customer } = partner
  const ids = ['--partner', partnerId, '--id', newId()]
  const iran = ['--countries', 'IR', '--for', 'payouts']
  const words: Readonly<Record<string, readonly string[]>> = {
    'partner rotate': ['--partner', partnerId],
    'service-account create': ['--partner', partnerId, '--name', 'x', '--permissions', 'all'],
    'service-account rotate': ids,
    impersonate: ['--partner', partnerId, '--note', 'Ticket 7'],
    'staff invite': ['--email', 'x@example.com', '--name', 'Xenia', '--role', 'admin'],
    'staff role': ['--id', sam.signed.account.id, '--role', 'finance'],
    'staff remove': ['--id', sam.signed.account.id],
    'limit set': limit().slice(2),
    'limit remove': ids,
    'fee set': ['--partner', partnerId, '--currency', 'EUR', '--fixed', '0.20'],
    'fee remove': ids,
    'approval set': ['--partner', partnerId, '--currency', 'EUR', '--above', '100.00', '--per-person', '500.00'],
    'approval remove': ids,
    'cooling-off set': ['--partner', partnerId, '--currency', 'EUR', '--hours', '24'],
    'cooling-off remove': ids,
    'gate set': ['--partner', partnerId, '--state', 'Incomplete', '--allow', 'none'],
    'gate remove': ['--partner', partnerId, '--state', 'Incomplete'],
    'screening country set': [...iran, '--action', 'review'],
    'screening country remove': iran,
    'screening remove': ['--name', 'members'],
    'payer-data set': ['--banks', 'outside', '--currency', 'EUR', '--measure', 'ask'],
    'payer-data remove': ['--banks', 'outside', '--currency', 'EUR'],
    'account unblock': ['--partner', partnerId, '--customer', customer.id, '--reason', 'Other'],
    'account close': ['--partner', partnerId, '--customer', customer.id, '--reason', 'Other'],
    'segregation set': ['--partner', partnerId, '--currency', 'EUR', '--mode', 'segregated'],
  }
  assert.deepEqual(Object.keys(words).toSorted(), needTwo.toSorted())
  const rows = () => service.audit.list(partnerId, { limit: '100' }).then(({ data }) => data.length)
  const before_ = await rows()
  for (const [name, options] of Object.entries(words)) {
    const { code, stdout, stderr } = await command(...name.split(' '), ...options, ...yesOf(name), ...ada.as)
    // A command about something that does not exist is refused at once. All others need an approval.
    if (code === 0) assert.ok('waits' in (JSON.parse(stdout) as object), `${name} waits`)
    else assert.match(stderr, /No such|not/i, name)
  }
  assert.equal(await rows(), before_)
})

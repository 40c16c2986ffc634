/** Every command that changes something leaves a record in the audit log: of the partner, or of the operator. */
import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { operatorPartnerId } from '../../service/src/cases/index.ts'
import { newId } from '../../service/src/kernel/index.ts'
import { commandNames, getDeclaration, isCommand, commandRoles } from '../../service/src/operator/declarations.ts'
import { addPartner } from '../support/composition.ts'
import { useOperator } from '../support/fixture.ts'
import { screenAll } from '../support/screening/held.ts'

const { service, run, printed } = await useOperator()

/** Records of commands, oldest first. */
const recordsOf = async (partnerId: string) =>
  (await service.audit.list(partnerId, { limit: '100' })).data
    .filter(({ action }) => action.startsWith('operator '))
    .map(({ actor, action, subject, details, reason }) => ({ actor, action, subject, details, reason }))
    .toReversed()
const [sam, kim] = ['Sam Staff', 'Kim Staff']

test('the log of limits and credentials contains who, what and why, and omits refused calls', async () => {
  const { partnerId } = await addPartner(service)
  const partner = ['--partner', partnerId.toUpperCase()]
  const limit = ['--scope', 'partner', '--period', 'day', '--currency', 'EUR', '--amount', '12.50']
  const made = await printed('limit', 'set', ...partner, ...limit, '--staff', sam, '--note', 'Contract of May.')
  const { serviceAccountId, apiSecret } = await printed(
    ...['service-account', 'create', ...partner, '--name', 'Second', '--permissions', 'payouts:read'],
  )
  await printed('service-account', 'revoke', ...partner, '--id', String(serviceAccountId), '--yes')
  const refused = await run(...['limit', 'remove', ...partner, '--id', newId()])
  assert.notEqual(refused.code, 0)
  const records = await recordsOf(partnerId)
  assert.deepEqual(records, [
    {
      actor: { kind: 'operator', name: sam },
      action: 'operator limit set',
      subject: { id: made['id'] },
      details: { scope: 'partner', period: 'day', currency: 'EUR', amount: '12.50' },
      reason: 'Contract of May.',
    },
    {
      actor: { kind: 'operator' },
      action: 'operator service-account create',
      subject: { serviceAccountId },
      details: { name: 'Second', permissions: 'payouts:read' },
      reason: undefined,
    },
    {
      actor: { kind: 'operator' },
      action: 'operator service-account revoke',
      subject: { id: serviceAccountId },
      details: undefined,
      reason: undefined,
    },
  ])
  assert.ok(!JSON.stringify(records).includes(String(apiSecret)))
})

test("cases and hits name each person, and a list is in the operator's log", async () => {
  const { partnerId, customer } = await addPartner(service)
  const file = new URL('../../service/src/screening/samples/un.xml', import.meta.url).pathname
  const load = ['screening', 'load', '--from', file, '--staff', sam]
  await printed(...load)
  assert.equal((await printed(...load))['isRepetition'], true)
  assert.deepEqual(
    (await recordsOf(operatorPartnerId)).map(({ actor, action, subject }) => [actor.name, action, subject]),
    [[sam, 'operator screening load', { list: 'un' }]],
    'a list that is there changes nothing',
  )
  await service.customers.update(partnerId, customer.id, { kyc: { fullName: 'Borislav Tremurov' } })
  await screenAll(service)
  const [hit] = (await service.screening.openHits(undefined, 100)).filter((each) => each.partnerId === partnerId)
  const about = ['--partner', partnerId, '--id', String(hit?.id)]
  for (const staff of [sam, kim])
    await printed(
      ...['screening', 'decide', ...about, '--outcome', 'clear', '--disposition', 'birth_differs'],
      ...['--staff', staff, '--note', 'Another birth.'],
    )
  const notification = { notificationId: newId(), subject: newId(), connector: 'sandbox', report: {} }
  await service.cases.open({
    ...notification,
    partnerId,
    kind: 'unknown_payment',
    booked: { currency: 'EUR', amount: 5n },
  })
  const [found] = (await service.cases.list(undefined, 100)).filter((row) => row.partnerId === partnerId)
  const ofCase = ['--partner', partnerId, '--id', String(found?.id)]
  await printed('case', 'propose', ...ofCase, '--action', 'credit', '--staff', sam, '--note', 'It is theirs.')
  await printed('case', 'approve', ...ofCase, '--staff', kim)
  assert.deepEqual(
    (await recordsOf(partnerId)).map(({ actor, action, subject, reason }) => [actor.name, action, subject.id, reason]),
    [
      [sam, 'operator case propose', found?.id, 'It is theirs.'],
      [kim, 'operator case approve', found?.id, undefined],
    ],
  )
  // The partner's customer must not learn of a suspicion.
  const kept = (await recordsOf(operatorPartnerId)).filter(({ action }) => action === 'operator screening decide')
  assert.deepEqual(
    kept.map(({ actor, subject, reason }) => [actor.name, subject.id, subject['partnerId'], reason]),
    [sam, kim].map((person) => [person, hit?.id, partnerId, 'Another birth.']),
  )
})

test('a partner reads neither the reason of an account block nor the risk class of a customer', async () => {
  const { partnerId, customer } = await addPartner(service)
  const about = ['--partner', partnerId, '--staff', sam, '--note', 'Suspected mule']
  const account = [...about, '--customer', customer.id, '--reason', 'Compliance']
  await printed('account', 'block', ...account, '--yes')
  await printed('account', 'unblock', ...account)
  await printed('review', 'set', ...about, '--customer', customer.id, '--risk', 'high')
  assert.deepEqual(await recordsOf(partnerId), [])
  const kept = (await recordsOf(operatorPartnerId)).filter(({ subject }) => subject['partnerId'] === partnerId)
  assert.deepEqual(
    kept.map(({ action, reason }) => [action, reason]),
    ['account block', 'account unblock', 'review set'].map((command) => [`operator ${command}`, 'Suspected mule']),
  )
})

test('each command that changes something records its call, and commands that only read do not', async () => {
  const operator = new URL('../../service/src/operator/', import.meta.url)
  const files = (await readdir(operator)).filter((name) => name.endsWith('.ts') && !name.startsWith('decla'))
  const texts = await Promise.all(files.map((name) => readFile(new URL(name, operator), 'utf8')))
  const functionOf = new Map<string, string>()
  for (const text of texts) {
    const entries = [...text.matchAll(/^ {2,4}(?:'(?<quoted>[a-z -]+)'|(?<bare>who|reconcile|impersonate)):/gm)]
    for (const [at, { index, groups: name }] of entries.entries()) {
      const own = text.slice(index, entries[at + 1]?.index).split(/\n\}\n/)[0]
      if (isCommand(name?.['quoted'] ?? name?.['bare'] ?? ''))
        functionOf.set(name?.['quoted'] ?? name?.['bare'] ?? '', own ?? '')
    }
  }
  for (const name of commandNames) {
    // The desk records a sign-in.
    const isRecorded = commandRoles(name) !== undefined || name === 'sign-out'
    // `operationCommand` hands the call to `runChange`.
    assert.equal(/\b(?:call|operationCommand)\b/.test(functionOf.get(name) ?? ''), isRecorded, `the record of: ${name}`)
  }
  assert.ok(commandNames.some((name) => getDeclaration(name).hidden))
})

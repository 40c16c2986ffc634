/** Deciders: allowed changes, and their effect on waiting proposals. */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { addPartner } from '../../../../test/support/composition.ts'
import { useModules } from '../../../../test/support/fixture.ts'
import { screenAll } from '../../../../test/support/screening/held.ts'
import { newId, personKey } from '../../kernel/index.ts'
import { sql } from '../../postgres/index.ts'
import { operatorPartnerId } from '../../cases/index.ts'
import { hitPairKey, readSanctionsList } from '../../screening/index.ts'
import { decidedKinds, type StaffRole, staffRoles } from './rules.ts'
import * as store from './store.ts'

const service = await useModules()
let count = 0
async function personOf(role: StaffRole) {
  count += 1
  const fullName = `Decider ${String.fromCharCode(97 + count)}`
  const row = { id: newId(), email: `decider${count}@example.com`, fullName, role, createdAt: service.clock.now() }
  const keys = { emailKey: row.email, nameKey: personKey(fullName) }
  assert.ok(await service.db.transaction((tx) => store.insertAccount(tx, { ...row, ...keys })))
  return { staffId: row.id, staff: fullName }
}
const set = (kind: (typeof decidedKinds)[number], roles: readonly StaffRole[]) =>
  service.db.transaction((tx) => service.staff.setDeciders(tx, { kind, roles, staff: 'Ada' }))
const rolesOf = async (wanted: string) =>
  (await service.staff.deciders(service.db)).find(({ kind }) => kind === wanted)?.roles

test('an admin can decide every kind, even after an empty edit, concurrent edits and a direct SQL statement', async () => {
  assert.deepEqual((await set('doubled', [])).roles, ['admin'])
  await Promise.all([set('doubled', ['finance']), set('doubled', ['support', 'compliance'])])
  assert.ok((await rolesOf('doubled'))?.includes('admin'))
  for (const roles of [['finance'], ['admin', 'owner']])
    await assert.rejects(
      service.db.run(
        sql`insert into staff.deciders (kind, roles, set_by, set_at) values ('x', ${roles}::text[], 'x', now())`,
      ),
      /deciders_roles_check/,
    )
  assert.deepEqual(
    await rolesOf('doubled'),
    (await rolesOf('doubled'))?.toSorted((a, b) => staffRoles.indexOf(a) - staffRoles.indexOf(b)),
  )
  const deciders = await service.staff.deciders(service.db)
  assert.deepEqual(
    deciders.map(({ kind }) => kind),
    decidedKinds,
  )
})

test('a role that loses a kind cannot approve, its proposals do not count, and two other people can decide', async () => {
  const { partnerId } = await addPartner(service)
  const id = newId()
  const about = { connector: 'ledger', notificationId: newId(), subject: id, report: {} }
  await service.cases.open({ id, partnerId, kind: 'monitoring_alert', ...about, booked: null })
  const [one, two] = [await personOf('compliance'), await personOf('compliance')]
  const proposal = { partnerId, id, action: 'release', disposition: 'watched', note: 'Read' } as const
  const propose = (by: typeof one) =>
    service.db.transaction((tx) => service.decisions.propose(tx, { ...proposal, ...by }))
  const approve = (by: typeof one) =>
    service.db.transaction((tx) => service.decisions.approve(tx, { partnerId, id, ...by }))
  await propose(one)
  await set('monitoring_alert', ['finance'])
  await assert.rejects(approve(two), { code: 'permission_denied' })
  const [three, four] = [await personOf('finance'), await personOf('finance')]
  await assert.rejects(approve(three), /may no longer do so/)
  await propose(three)
  const answers = await Promise.allSettled([approve(four), approve(await personOf('admin'))])
  assert.deepEqual(answers.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected'], 'two at once: one counts')
  const row = await service.cases.byId(service.db, partnerId, id)
  assert.deepEqual([row?.resolution, row?.disposition], ['released', 'watched'])
})

test('a decision releases or refuses an alert, and a note ends neither an alert nor a held payout', async () => {
  const { partnerId } = await addPartner(service)
  const [admin, other] = [await personOf('admin'), await personOf('admin')]
  const open = async (kind: 'monitoring_alert' | 'sanctions_hold') => {
    const id = newId()
    const about = { connector: 'ledger', notificationId: newId(), subject: id, report: {} }
    await service.cases.open({ id, partnerId, kind, ...about, booked: null })
    return id
  }
  const propose = (id: string, given: object) =>
    service.db.transaction((tx) =>
      service.decisions.propose(tx, { partnerId, id, note: 'Read', action: 'note', ...admin, ...given }),
    )
  const alert = await open('monitoring_alert')
  await assert.rejects(propose(alert, {}), /Use release or refuse/)
  await assert.rejects(propose(alert, { action: 'release' }), /State what you found/)
  await assert.rejects(propose(alert, { action: 'release', disposition: 'fraud' }), /State what you found/)
  await assert.rejects(propose(alert, { action: 'refuse', disposition: 'fraud' }), /No payout waits/)
  await propose(alert, { action: 'release', disposition: 'false_positive' })
  const hold = await open('sanctions_hold')
  await assert.rejects(propose(hold, {}), /Use refuse/)
  await assert.rejects(propose(hold, { action: 'refuse', disposition: 'fraud' }), /Only the decision about an alert/)
  await propose(hold, { action: 'refuse' })
  await service.db.transaction((tx) => service.decisions.approve(tx, { partnerId, id: hold, ...other }))
  assert.equal((await service.cases.byId(service.db, partnerId, hold))?.resolution, 'refused')
})

test('hits of a partner with the same name and entry are equal, but each has its own decision', async () => {
  async function* bytes() {
    yield await readFile(new URL('../../screening/samples/un.xml', import.meta.url))
  }
  await service.screening.lists.load(await readSanctionsList(bytes()), 'Sam Staff')
  const [partner, elsewhere] = [await addPartner(service), await addPartner(service)]
  const payee = (partnerId: string, iban: string) =>
    service.beneficiaries.create(partnerId, { iban, currency: 'EUR', name: 'Borislav Tremurov' })
  await payee(partner.partnerId, 'DE89370400440532013000')
  await payee(partner.partnerId, 'FR1420041010050500013M02606')
  await payee(elsewhere.partnerId, 'DE89370400440532013000')
  while ((await service.screener.sweepStep()) > 0);
  while ((await service.screener.screenStep()) > 0);
  const open = (await service.screening.openHits(undefined, 100)).filter(
    ({ partnerId }) => partnerId === partner.partnerId || partnerId === elsewhere.partnerId,
  )
  const own = open.filter(({ partnerId }) => partnerId === partner.partnerId)
  const [first, second] = own
  assert.ok(first && second && own.length === 2)
  assert.equal(hitPairKey(first), hitPairKey(second))
  assert.deepEqual(
    (await service.screening.equalHits(first)).map(({ id }) => id).toSorted(),
    [first.id, second.id].toSorted(),
  )
  const [one, two] = [await personOf('compliance'), await personOf('compliance')]
  const decide = (id: string, by: typeof one) =>
    service.db.transaction((tx) =>
      service.screening.decide(tx, {
        partnerId: partner.partnerId,
        id,
        outcome: 'clear',
        disposition: 'birth_differs',
        note: 'Other birth',
        ...by,
      }),
    )
  await decide(first.id, one)
  await decide(first.id, two)
  assert.deepEqual(
    (await service.screening.equalHits(second)).map(({ id }) => id),
    [second.id],
  )
  assert.equal((await service.screening.decisionsOf(service.db, partner.partnerId, second.id)).length, 0)
})

test('money whose sender may be on a list is given away only by the people who decide about names', async () => {
  const { partnerId } = await addPartner(service)
  await service.db.transaction((tx) => service.access.addOperator(tx, operatorPartnerId))
  await screenAll(service)
  const sender = (name: string) => ({ account: 'DE1', bic: 'COBADEFFXXX', name, countryCode: 'DE', address: null })
  const open = async (debtor: object) => {
    const id = newId()
    const report = { kind: 'credit.booked', account: 'DE2', debtor }
    const about = { connector: 'sandbox', notificationId: newId(), subject: id, report }
    const booked = { currency: 'EUR', amount: 500n } as const
    await service.cases.open({ id, partnerId, kind: 'unknown_payment', ...about, booked })
    return id
  }
  const [finance, other] = [await personOf('finance'), await personOf('finance')]
  const [compliance, second] = [await personOf('compliance'), await personOf('compliance')]
  const propose = (id: string, action: 'return' | 'credit' | 'write-off', by: typeof finance) =>
    service.db.transaction((tx) => service.decisions.propose(tx, { partnerId, id, action, note: 'Read', ...by }))
  const approve = (id: string, by: typeof finance) =>
    service.db.transaction((tx) => service.decisions.approve(tx, { partnerId, id, ...by }))
  for (const debtor of [sender('Borislav Tremurov'), { ...sender('A bank'), onBehalfOf: 'TREMUROV, Borislav' }]) {
    const id = await open(debtor)
    for (const action of ['return', 'credit', 'write-off'] as const)
      await assert.rejects(propose(id, action, finance), /may be on a list/)
    await propose(id, 'return', compliance)
    await assert.rejects(approve(id, finance), /may be on a list/)
    assert.notEqual((await approve(id, second)).returningSince, null)
  }
  const known = await open(sender('Grace Hopper'))
  await propose(known, 'return', finance)
  assert.notEqual((await approve(known, other)).returningSince, null)
})

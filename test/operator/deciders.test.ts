/**
 * Tests the table of roles that decide each kind of case, which module operations and pages use: every kind and role,
 * over HTTP and by commands.
 */
import assert from 'node:assert/strict'
import { fileURLToPath } from 'node:url'
import { test } from 'node:test'
import { textAt } from '../support/client.ts'
import { createTestService, masterKeyText } from '../support/composition.ts'
import { untilEnd, useService } from '../support/fixture.ts'
import { runOperator } from '../support/operator.ts'
import { staffAtDesk, type StaffRole } from '../support/staff.ts'
import { sendForm } from '../support/team.ts'
import { until } from '../support/until.ts'
import { createCustomer } from '../support/world.ts'
import { type CaseKind, caseKinds } from '../../service/src/cases/index.ts'
import { newId } from '../../service/src/kernel/index.ts'
import { commandNames, getDeclaration } from '../../service/src/operator/declarations.ts'
import { decidedKinds } from '../../service/src/people/staff/index.ts'

const service = await useService({ env: { MASTER_KEY: masterKeyText } })
const { env, opsUrl } = service
const { partnerId } = service.credentials
const inside = untilEnd(await createTestService({ url: service.databaseUrl, now: new Date() }))
const desk = { opsUrl, env, folder: service.dataDir }
const ada = await staffAtDesk(desk, { name: 'Ada Admin', role: 'admin' })
const people = {
  support: await staffAtDesk(desk, { name: 'Sam Support', role: 'support', by: ada.as }),
  compliance: await staffAtDesk(desk, { name: 'Cora Compliance', role: 'compliance', by: ada.as }),
  finance: await staffAtDesk(desk, { name: 'Finn Finance', role: 'finance', by: ada.as }),
  admin: ada,
} as const
const roles = Object.keys(people) as readonly StaffRole[]

/** The kinds that compliance decides. Finance decides all others. */
const ofCompliance: ReadonlySet<string> = new Set([
  ...['account_blocked', 'customer_not_verified', 'payer_data_missing', 'sanctions_hold', 'monitoring_alert'],
  'screening_hit',
])
const decides = (kind: string, role: StaffRole): boolean =>
  role === 'admin' || role === (ofCompliance.has(kind) ? 'compliance' : 'finance')

async function open(kind: CaseKind): Promise<string> {
  const id = newId()
  const about = { connector: 'sandbox', notificationId: newId(), subject: newId(), report: {} }
  assert.ok(await inside.cases.open({ id, partnerId, kind, ...about, booked: null }))
  return id
}

/** Returns the fields of a form that proposes the end of a case of the kind. */
const formOf = (kind: CaseKind): Readonly<Record<string, string>> =>
  kind === 'monitoring_alert'
    ? { action: 'release', disposition: 'explained', note: 'Read' }
    : { action: kind === 'sanctions_hold' ? 'refuse' : 'note', note: 'Read' }

test('over HTTP only the roles in the table decide a kind of case, and a refusal leaves the case unchanged', async () => {
  for (const kind of caseKinds)
    for (const role of roles) {
      const id = await open(kind)
      const url = new URL(`/desk/cases/${partnerId}/${id}/propose`, opsUrl)
      const { status } = await sendForm(url, formOf(kind), { cookie: people[role].cookie })
      assert.equal(status, decides(kind, role) ? 303 : 403, `${kind}, ${role}`)
      const row = await inside.cases.byId(inside.db, partnerId, id)
      assert.equal((row?.resolution ?? row?.proposalId ?? null) !== null, decides(kind, role), `${kind}, ${role}`)
      const page = await fetch(new URL(`/desk/cases/${partnerId}/${id}`, opsUrl), {
        headers: { cookie: people[role].cookie },
      })
      const shown = await page.text()
      assert.equal(page.status, 200)
      if (!decides(kind, role)) assert.match(shown, /Your role does not decide this kind\./, `${kind}, ${role}`)
    }
})

test('the commands follow the same table', async () => {
  for (const kind of caseKinds) {
    const [yes, no] = ofCompliance.has(kind)
      ? (['compliance', 'finance'] as const)
      : (['finance', 'compliance'] as const)
    const id = await open(kind)
    const { action = '', disposition, note = '' } = formOf(kind)
    const words = ['case', 'propose', '--partner', partnerId, '--id', id, '--action', action, '--note', note]
    if (disposition !== undefined) words.push('--disposition', disposition)
    const refused = await runOperator([...words, ...people[no].as], env)
    assert.match(refused.stderr, new RegExp(`Deciding ${kind} needs the role`), kind)
    const { code, stderr } = await runOperator([...words, ...people[yes].as], env)
    assert.deepEqual([code, stderr], [0, ''], kind)
  }
})

test('support and finance cannot decide a hit, compliance proposes, and an admin decides', async () => {
  const list = fileURLToPath(new URL('../../service/src/screening/samples/un.xml', import.meta.url))
  assert.equal((await runOperator(['screening', 'load', '--from', list, ...ada.as], env)).code, 0)
  await createCustomer(service.client, { kyc: { fullName: 'Borislav Tremurov' } })
  await until('the customer is a hit', async () => (await inside.screening.openHits(undefined, 10)).length === 1)
  const [hit] = await inside.screening.openHits(undefined, 1)
  const id = hit?.id ?? ''
  for (const role of roles) {
    const url = new URL(`/desk/hits/${partnerId}/${id}/decide`, opsUrl)
    const found = { outcome: 'clear', disposition: 'birth_differs', note: 'Read' }
    const { status } = await sendForm(url, found, { cookie: people[role].cookie })
    assert.equal(status, decides('screening_hit', role) ? 303 : 403, role)
  }
  assert.equal((await inside.screening.hit(partnerId, id))?.status, 'cleared')
})

test('every kind has a row, and each command that decides by kind declares it', () => {
  assert.deepEqual(new Set(decidedKinds), new Set([...caseKinds, 'screening_hit']))
  const byKind = commandNames.filter((name) => getDeclaration(name).byKind === true)
  assert.deepEqual(byKind, ['case propose', 'case approve', 'case reject', 'screening decide'])
})

test('changing the roles of a kind needs two admins, an admin can always decide, and the log records both', async () => {
  const second = await staffAtDesk(desk, { name: 'Abe Admin', role: 'admin', by: ada.as })
  const words = ['decider', 'set', '--kind', 'bank_fee', '--roles', 'support', '--note', 'Support books charges']
  const refused = await runOperator([...words, ...people.finance.as], env)
  assert.match(refused.stderr, /decider set needs the role admin/)
  const proposed = await runOperator([...words, ...ada.as], env)
  const change = textAt(JSON.parse(proposed.stdout) as Record<string, string>, 'waits')
  const rolesOf = async () => (await inside.staff.deciders(inside.db)).find(({ kind }) => kind === 'bank_fee')?.roles
  assert.deepEqual(await rolesOf(), ['finance', 'admin'])
  assert.equal((await runOperator(['change', 'approve', '--id', change, ...ada.as], env)).code, 1)
  assert.equal((await runOperator(['change', 'approve', '--id', change, ...second.as], env)).code, 0)
  assert.deepEqual(await rolesOf(), ['support', 'admin'])
  const propose = async (role: StaffRole) => {
    const url = new URL(`/desk/cases/${partnerId}/${await open('bank_fee')}/propose`, opsUrl)
    return (await sendForm(url, formOf('bank_fee'), { cookie: people[role].cookie })).status
  }
  assert.deepEqual([await propose('finance'), await propose('support')], [403, 303])
  const records = (await inside.audit.list('00000000-0000-8000-8000-000000000000', {})).data
  const record = records.find(({ action }) => action === 'operator decider set')
  assert.deepEqual([record?.actor.name, record?.details?.['approvedBy']], ['Ada Admin', 'Abe Admin'])
})

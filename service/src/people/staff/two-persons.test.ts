/** Decisions by two persons of staff: both are judged when a decision takes effect, for each kind of decision and each lost right. */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { suite, test } from 'node:test'
import { addPartner } from '../../../../test/support/composition.ts'
import { useModules } from '../../../../test/support/fixture.ts'
import { newId, personKey } from '../../kernel/index.ts'
import { readSanctionsList } from '../../screening/index.ts'
import { readRule } from '../../monitoring/index.ts'
import { Refusal } from '../../kernel/api/index.ts'
import type { StaffRole } from './rules.ts'
import * as store from './store.ts'

type Person = { readonly id: string; readonly fullName: string }
let count = 0
const service = await useModules()
await personOf()
const list = new URL('../../screening/samples/un.xml', import.meta.url)
async function* bytes() {
  yield await readFile(list)
}
await service.screening.lists.load(await readSanctionsList(bytes()), 'Sam Staff')
async function personOf(role: StaffRole = 'admin'): Promise<Person> {
  count += 1
  const fullName = `Person ${String.fromCharCode(97 + (count % 26))}${count}`
  const row = { id: newId(), email: `staff${count}@example.com`, fullName, role, createdAt: service.clock.now() }
  const keys = { emailKey: row.email, nameKey: personKey(fullName) }
  assert.ok(await service.db.transaction((tx) => store.insertAccount(tx, { ...row, ...keys })))
  return row
}
const mayRun = (_command: string, role: StaffRole) => role === 'finance' || role === 'admin'

/** A proposal of an author. Each step reports whether the decision took effect. */
type Kind = {
  readonly propose: (author: Person) => Promise<TestProposal>
}
type TestProposal = {
  readonly approve: (by: Person) => Promise<boolean>
  /** Lets a person with the right propose again. */
  readonly again: (by: Person) => Promise<TestProposal>
}

async function proposeChange(author: Person): Promise<TestProposal> {
  const { changes } = service.staff
  const { id } = await service.db.transaction((tx) =>
    changes.propose(tx, author, { command: 'limit set', options: {} }),
  )
  return {
    approve: async (by) => {
      await service.db.transaction((tx) => changes.carryOut(tx, id, by, mayRun))
      return (await changes.get(service.db, id)).doneAt !== null
    },
    again: proposeChange,
  }
}

async function openCase() {
  const { partnerId } = await addPartner(service)
  const id = newId()
  const named = { connector: 'sandbox', notificationId: newId(), subject: id, report: {} }
  await service.cases.open({
    ...{ id, partnerId, kind: 'unknown_payment', ...named },
    booked: { currency: 'EUR', amount: 1234n },
  })
  return { partnerId, id }
}

async function proposeCase(
  author: Person,
  key: { readonly partnerId: string; readonly id: string },
): Promise<TestProposal> {
  const by = ({ id: staffId, fullName: staff }: Person) => ({ staffId, staff })
  const proposal = { ...key, action: 'fees', note: 'Charge of the bank' } as const
  await service.db.transaction((tx) => service.decisions.propose(tx, { ...proposal, ...by(author) }))
  return {
    approve: async (person) =>
      (await service.db.transaction((tx) => service.decisions.approve(tx, { ...key, ...by(person) }))).resolution !==
      null,
    again: (person) => proposeCase(person, key),
  }
}

async function openHit() {
  const partner = await addPartner(service)
  const payee = { iban: 'DE89370400440532013000', currency: 'EUR', name: 'Borislav Tremurov' } as const
  const { id: subjectId } = await service.beneficiaries.create(partner.partnerId, payee)
  while ((await service.screener.sweepStep()) > 0);
  while ((await service.screener.screenStep()) > 0);
  const hit = (await service.screening.openHits(undefined, 1000)).find((each) => each.subjectId === subjectId)
  return hit ?? assert.fail('a listed name is a hit')
}

async function proposeHit(author: Person, { partnerId, id }: { readonly partnerId: string; readonly id: string }) {
  const decide = async ({ fullName: staff }: Person) => {
    const given = {
      partnerId,
      id,
      outcome: 'clear',
      disposition: 'birth_differs',
      staff,
      note: 'Another date of birth',
    } as const
    return (await service.db.transaction((tx) => service.screening.decide(tx, given))).status === 'cleared'
  }
  assert.equal(await decide(author), false)
  const proposed: TestProposal = { approve: decide, again: async () => proposed }
  return proposed
}

async function ruleOf(person: Person) {
  const rule = { name: 'A rule', currency: 'EUR', kind: 'country', direction: 'Outward', countries: ['DE'] }
  const draft = readRule(JSON.stringify(rule))
  const staff = person.fullName
  const { id } = await service.db.transaction((tx) => service.monitoring.setRule(tx, { draft, staff }))
  const until = service.clock.now().toISOString().slice(0, 10)
  await service.monitoring.backtest({ id, from: '2026-01-01', until, staff })
  return id
}

async function proposeRule(author: Person, verb: 'turnOn' | 'turnOff'): Promise<TestProposal> {
  const id = await ruleOf(author)
  const turn = async (by: Person, which = verb) =>
    (await service.db.transaction((tx) => service.monitoring[which](tx, { id, staff: by.fullName }))).state
  if (verb === 'turnOff') for (const each of [await personOf(), await personOf()]) await turn(each, 'turnOn')
  await turn(author)
  const ends = verb === 'turnOn' ? 'On' : 'Off'
  const proposed: TestProposal = { approve: async (by) => (await turn(by)) === ends, again: async () => proposed }
  return proposed
}

const kinds: Readonly<Record<string, Kind>> = {
  change: { propose: proposeChange },
  case: { propose: async (author) => proposeCase(author, await openCase()) },
  hit: { propose: async (author) => proposeHit(author, await openHit()) },
  'rule on': { propose: (author) => proposeRule(author, 'turnOn') },
  'rule off': { propose: (author) => proposeRule(author, 'turnOff') },
}

const demote = ({ id }: Person) => service.db.transaction((tx) => service.staff.setRole(tx, id, 'support'))
const dismiss = ({ id }: Person) => service.db.transaction((tx) => service.staff.remove(tx, id))
const since: Readonly<Record<string, (author: Person, approver: Person) => Promise<unknown>>> = {
  'the author was moved': (author) => demote(author),
  'the author was removed': (author) => dismiss(author),
  'the approver was moved': (_author, approver) => demote(approver),
  'the approver was removed': (_author, approver) => dismiss(approver),
}

/** Reports whether the step took effect. A refusal or a new proposal is not an effect. */
async function takesEffect(work: Promise<boolean>): Promise<boolean> {
  try {
    return await work
  } catch (error) {
    if (error instanceof Refusal) return false
    throw error
  }
}

for (const [name, kind] of Object.entries(kinds))
  suite(`${name}: the roles of both people are checked when the decision takes effect`, () => {
    test('two people with the right can decide, and one person alone cannot', async () => {
      const author = await personOf()
      const proposed = await kind.propose(author)
      assert.equal(await takesEffect(proposed.approve(author)), false)
      assert.equal(await takesEffect(proposed.approve(await personOf())), true)
    })
    for (const [moved, move] of Object.entries(since))
      test(`nothing takes effect when ${moved}, until people with the right propose and approve it`, async () => {
        const [author, approver] = [await personOf(), await personOf()]
        const proposed = await kind.propose(author)
        await move(author, approver)
        assert.equal(await takesEffect(proposed.approve(approver)), false)
        if (moved.includes('approver')) {
          assert.equal(await takesEffect(proposed.approve(await personOf())), true)
          return
        }
        // For a hit and a rule, the step of a person with the right becomes the proposal; a case and a change are proposed again.
        const next = await proposed.again(await personOf())
        assert.equal(await takesEffect(next.approve(await personOf())), true)
      })
  })

test('the approval of a person who lost the right does not count, and another person can approve', async () => {
  const { changes } = service.staff
  const [author, approver, third] = [await personOf(), await personOf(), await personOf()]
  const by = await service.db.transaction((tx) =>
    changes.propose(tx, author, { command: 'service-account create', options: {} }),
  )
  const approve = (person: Person) => service.db.transaction((tx) => changes.approve(tx, by.id, person, mayRun))
  const run = (person: Person) => service.db.transaction((tx) => changes.carryOut(tx, by.id, person, mayRun))
  await approve(approver)
  await assert.rejects(approve(third), /was approved by/)
  await demote(approver)
  await assert.rejects(run(approver), /may not approve it/)
  await approve(third)
  await run(third)
  assert.notEqual((await changes.get(service.db, by.id)).doneAt, null)
})

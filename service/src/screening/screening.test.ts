/** Screening of names after writes and loaded lists, and decisions about hits. */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { Refusal } from '../kernel/api/index.ts'
import { minuteMs, newId } from '../kernel/index.ts'
import { sql } from '../postgres/index.ts'
import { addPartner } from '../../../test/support/composition.ts'
import { dispositionFor } from '../../../test/support/screening/held.ts'
import { until } from '../../../test/support/until.ts'
import { useModules } from '../../../test/support/fixture.ts'
import {
  createScreener,
  type Hit,
  type HitDisposition,
  type HitOutcome,
  readSanctionsList,
  type SanctionsList,
  type Screener,
} from './index.ts'

const noPayments = async () => []
const service = await useModules()
const partner = await addPartner(service)

async function* bytesOf(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text)
}
const sample = (name: string) => readFile(new URL(`samples/${name}.xml`, import.meta.url), 'utf8')
const read = (text: string) => readSanctionsList(bytesOf(text))
const load = async (list: SanctionsList) => service.screening.lists.load(list, 'Sam Staff')

/** Builds the EU list with an entry with these names, published some days after the sample. */
async function euList(days: number, entries: Readonly<Record<string, readonly string[]>>): Promise<SanctionsList> {
  const list = await read(await sample('eu'))
  const names = (texts: readonly string[]) =>
    texts.map((text, at) => ({ text, quality: at === 0 ? 'primary' : 'good' }) as const)
  return {
    ...list,
    hash: newId(),
    publishedAt: new Date(list.publishedAt.getTime() + days * 24 * 60 * minuteMs),
    entries: Object.entries(entries).map(([id, texts]) => ({
      id,
      reference: `EU.${id}`,
      kind: 'person',
      names: names(texts),
      births: [],
      programmes: [],
    })),
  }
}

async function work(screener: Screener = service.screener): Promise<void> {
  while ((await screener.sweepStep()) > 0);
  while ((await screener.screenStep()) > 0);
}

const account = { iban: 'DE89370400440532013000', currency: 'EUR' } as const
const addBeneficiary = (name: string, of = partner) => service.beneficiaries.create(of.partnerId, { ...account, name })
const openOf = async (subjectId: string) =>
  (await service.screening.openHits(undefined, 1000)).filter((hit) => hit.subjectId === subjectId)
const hitOf = async (subjectId: string): Promise<Hit> => {
  const [hit, ...others] = await openOf(subjectId)
  assert.ok(hit && others.length === 0, 'the subject has one open hit')
  return hit
}
const decide = (hit: Hit, outcome: 'clear' | 'confirm', staff: string, note = 'Another date of birth.') => {
  const { partnerId, id } = hit
  const deciding = { partnerId, id, outcome, disposition: dispositionFor(hit, outcome), staff, note }
  return service.db.transaction((tx) => service.screening.decide(tx, deciding))
}
const refused =
  (detail: RegExp, code = 'validation_failed') =>
  (error: unknown) => {
    assert(error instanceof Refusal)
    assert.equal(error.code, code)
    assert.match(error.detail ?? '', detail)
    return true
  }
const shown = async (hit: Hit) => {
  const found = await service.screening.hit(hit.partnerId, hit.id)
  assert.ok(found)
  return found
}

test('without a list names are not screened', async () => {
  const { id } = await addBeneficiary('Borislav Tremurov')
  await work()
  assert.deepEqual(await openOf(id), [])
  assert.equal(await service.screening.lists.generation(service.db), 0)
})

test('loading a list screens existing names, including those without a screening request', async () => {
  const before = await addBeneficiary('Tremurof, Borislav')
  const unrequested = await addBeneficiary('Boris Tremuroff')
  await service.db.run(
    sql`delete from screening.subjects where partner_id = ${partner.partnerId} and id = ${unrequested.id}`,
  )
  const loaded = await load(await read(await sample('un')))
  assert.deepEqual(
    [
      loaded.generation,
      loaded.entries,
      loaded.names,
      loaded.added,
      loaded.changed,
      loaded.removed,
      loaded.isRepetition,
    ],
    [1, 3, 8, 3, 0, 0, false],
  )
  await work()
  assert.equal((await hitOf(unrequested.id)).score, 100)
  const hit = await hitOf(before.id)
  const { source, entryId, role, name, listedName, isReordered, words, births, reference, cause } = hit
  assert.deepEqual(
    { source, entryId, role, name, listedName, isReordered, births, reference, cause },
    {
      source: 'un',
      entryId: '9100001',
      role: 'name',
      name: 'Tremurof, Borislav',
      listedName: 'Borislav Tremurov',
      isReordered: true,
      births: ['1961-04-12', 'circa 1962', '1963 to 1964'],
      reference: 'XXi.001',
      cause: 'name',
    },
  )
  assert.deepEqual(
    words.map(({ word, listed, how }) => [word, listed, how]),
    [
      ['borislav', 'borislav', 'equal'],
      ['tremurof', 'tremurov', 'transliterated'],
    ],
  )
  const [row] = await service.db.rows<{ text: string }>(
    sql`select encode(detail_sealed, 'escape') as text from screening.hits where partner_id = ${partner.partnerId}`,
  )
  assert.doesNotMatch(row?.text ?? '', /tremur/i)
})

test('a list is loaded exactly once, even concurrently, and never replaced by an older list', async () => {
  const list = await read(await sample('un'))
  assert.equal((await load(list)).isRepetition, true)
  const older = { ...list, hash: 'older', publishedAt: new Date('2025-01-01T00:00:00Z') }
  await assert.rejects(load(older), refused(/published at 2025-01-01.*2026-01-05.*already loaded/))
  const eu = await read(await sample('eu'))
  const both = await Promise.all([load(eu), load(eu)])
  assert.deepEqual(both.map(({ isRepetition }) => isRepetition).toSorted(), [false, true])
  assert.deepEqual(
    both.map(({ generation }) => generation),
    [2, 2],
  )
})

test('owners and other names of a customer are screened when they change, but not with other changes', async () => {
  const { customers, clock, db } = service
  const { partnerId } = partner
  const { id } = await customers.create(partnerId, {
    kyc: { legalName: 'Velmora Bakery', uboFirstName2: 'Qadir', uboLastName2: 'Zhabari' },
  })
  await work()
  const hit = await hitOf(id)
  assert.deepEqual([hit.role, hit.entryId, hit.subjectKind, hit.score], ['owner2', '9100002', 'customer', 94])
  const generation = async () =>
    (
      await db.row<{ generation: number }>(
        sql`select generation from screening.subjects where partner_id = ${partnerId} and id = ${id}`,
      )
    )?.generation
  clock.advance(1000)
  await customers.update(partnerId, id, { email: 'other@example.com' })
  assert.equal(await generation(), 2)
  await customers.update(partnerId, id, { kyc: { uboLastName2: 'Hopper' } })
  assert.equal(await generation(), 0)
  await work()
  assert.deepEqual(await shown(hit), hit, 'a new name ends no hit')
  assert.equal((await decide(hit, 'clear', 'Ada')).status, 'cleared')
  await customers.update(partnerId, id, { kyc: { uboLastName2: 'Zhabari' } })
  await work()
  assert.deepEqual(await openOf(id), [], 'the decision about a name holds when the name comes back')
})

test('below the score one person decides, and the decision records the list and applies only to its name', async () => {
  const { beneficiaries, screening, db } = service
  const { id } = await addBeneficiary('Qadir al Zhabari')
  await work()
  const hit = await hitOf(id)
  await assert.rejects(decide(hit, 'clear', ' '), refused(/State who/))
  await assert.rejects(decide(hit, 'clear', 'Ada', ' '), refused(/note is required/))
  await assert.rejects(decide({ ...hit, id: newId() }, 'clear', 'Ada'), refused(/No such hit/, 'not_found'))
  const other = await addPartner(service)
  await assert.rejects(
    decide({ ...hit, partnerId: other.partnerId }, 'clear', 'Ada'),
    refused(/No such hit/, 'not_found'),
  )
  assert.equal((await decide(hit, 'clear', 'Ada')).status, 'cleared')
  await assert.rejects(decide(hit, 'clear', 'Grace'), refused(/was cleared by Ada/))
  const decisions = await screening.decisionsOf(db, hit.partnerId, hit.id)
  assert.deepEqual(
    decisions.map(({ sequence, kind, outcome, actor, generation }) => [sequence, kind, outcome, actor, generation]),
    [[1, 'decided', 'clear', 'Ada', 2]],
  )
  await beneficiaries.update(partner.partnerId, { id, name: 'QADIR AL-ZHABARI' })
  await work()
  assert.deepEqual(await openOf(id), [], 'the same words are the same name')
  await beneficiaries.update(partner.partnerId, { id, name: 'Qadir Yusuf al-Zhabari' })
  await work()
  const next = await hitOf(id)
  assert.deepEqual([next.replaces, next.score], [null, 100])
  assert.equal((await shown(hit)).status, 'cleared')
})

test('a decision states a finding that fits the outcome and the list, and each decision keeps its finding', async () => {
  const { id } = await addBeneficiary('Borislav Tremurov')
  await work()
  const hit = await hitOf(id)
  const { partnerId } = hit
  const say = (outcome: HitOutcome, disposition: HitDisposition, staff: string) =>
    service.db.transaction((tx) =>
      service.screening.decide(tx, { partnerId, id: hit.id, outcome, disposition, staff, note: 'Compared.' }),
    )
  for (const [outcome, misfit] of [
    ['clear', 'data_agree'],
    ['confirm', 'birth_differs'],
    ['clear', 'licensed'],
    ['confirm', 'prohibited'],
  ] as const)
    await assert.rejects(say(outcome, misfit, 'Ada'), refused(/State what you found, as the disposition: \w+, /))
  assert.equal((await say('clear', 'birth_differs', 'Ada')).disposition, null, 'a proposal decides nothing')
  assert.equal((await say('clear', 'document_differs', 'Grace')).disposition, 'document_differs')
  const decisions = await service.screening.decisionsOf(service.db, partnerId, hit.id)
  assert.deepEqual(
    decisions.map(({ kind, disposition }) => [kind, disposition]),
    [
      ['proposed', 'birth_differs'],
      ['decided', 'document_differs'],
    ],
  )
  for (const staff of ['Ada', 'Grace']) await say('confirm', 'data_agree', staff)
  assert.equal((await shown(hit)).disposition, 'data_agree', 'another decision has its own')
})

test('from the score on, two people decide, and two people are needed to withdraw a decision', async () => {
  const { id } = await addBeneficiary('Borislav Tremurov')
  await work()
  const hit = await hitOf(id)
  assert.equal((await decide(hit, 'confirm', 'Ada')).status, 'open')
  await assert.rejects(decide(hit, 'confirm', 'A D A'), refused(/Ada proposed it: another person must approve it/))
  assert.equal((await decide(hit, 'clear', 'Grace')).proposedBy, 'Grace')
  const decided = await decide(hit, 'clear', 'Ada')
  assert.deepEqual(
    [decided.status, decided.decidedBy, decided.approvedBy, decided.proposal],
    ['cleared', 'Grace', 'Ada', null],
  )
  assert.equal((await decide(hit, 'confirm', 'Ada')).status, 'cleared')
  service.clock.advance(8 * 24 * 60 * minuteMs)
  assert.equal((await decide(hit, 'confirm', 'Grace')).status, 'cleared', 'the proposal has expired')
  assert.equal((await decide(hit, 'confirm', 'Joan')).status, 'confirmed')
})

test('if two people decide at the same time, one proposes and the other decides or is refused', async () => {
  const { id } = await addBeneficiary('Borislav Tremurov')
  const low = await addBeneficiary('Qadir al Zhabari')
  await work()
  const both = await Promise.all(['Ada', 'Grace'].map(async (staff) => decide(await hitOf(id), 'clear', staff)))
  assert.deepEqual(both.map(({ status }) => status).toSorted(), ['cleared', 'open'])
  const hit = await hitOf(low.id)
  const race = await Promise.allSettled([decide(hit, 'clear', 'Ada'), decide(hit, 'clear', 'Grace')])
  assert.deepEqual(race.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected'])
})

test('a new list opens, ends and replaces hits, and unchanged hits keep their decision', async () => {
  const { screening } = service
  const names = { kept: 'Ovrid Mascarel', changed: 'Tarvin Uleskar', gone: 'Pelko Wandrusch', new: 'Sirje Kvantaluu' }
  await load(await euList(1, { k: [names.kept], c: [names.changed], g: [names.gone] }))
  const subjects = Object.fromEntries(
    await Promise.all(
      Object.entries(names).map(async ([key, name]) => [key, (await addBeneficiary(name)).id] as const),
    ),
  ) as Record<keyof typeof names, string>
  await work()
  for (const key of ['kept', 'changed'] as const)
    for (const staff of ['Ada', 'Grace']) await decide(await hitOf(subjects[key]), 'clear', staff)
  const gone = await hitOf(subjects.gone)
  const { generation } = await load(
    await euList(2, { k: [names.kept], c: [names.changed, 'Tarvin U.'], n: [names.new] }),
  )
  await work()
  const found = (await screening.differences(generation, null, 1000)).map((hit) => [
    hit.subjectId,
    hit.generation === generation ? (hit.replaces === null ? 'new' : 'changed') : hit.endReason,
    hit.status,
  ])
  assert.deepEqual(
    found.toSorted(),
    [
      [subjects.changed, 'changed', 'open'],
      [subjects.changed, 'entry_changed', 'cleared'],
      [subjects.new, 'new', 'open'],
    ].toSorted(),
  )
  assert.deepEqual(await shown(gone), gone, 'persons decide about it')
  assert.deepEqual(await openOf(subjects.kept), [])
})

test('a name is also compared with a list that is loaded while it is screened', async () => {
  const { id } = await addBeneficiary('Ilvane Brastoguer')
  let reload: Promise<unknown> | undefined
  const screener = createScreener({
    heldPayments: noPayments,
    ...service,
    lists: service.screening.lists,
    partnerIds: service.access.partnerIds,
    idsAfter: () => Promise.resolve([]),
    subjectOf: async (tx, key) => {
      // Between claim and record, so that the index of the claim does not contain the name.
      reload ??= euList(3, { b: ['Ilvane Brastoguer'] }).then(load)
      await reload
      return service.beneficiaries.subjectOf(tx, key.partnerId, key.id)
    },
  })
  assert.ok((await screener.screenStep()) > 0)
  const due = () =>
    service.screening.lists
      .generation(service.db)
      .then((generation) => service.screening.progressOf(service.db, partner.partnerId, generation))
  assert.deepEqual(await openOf(id), [])
  assert.notEqual((await due()).due, 0n)
  await work()
  assert.equal((await hitOf(id)).score, 100)
  assert.equal((await due()).due, 0n)
})

const waiters = async () => {
  const row = await service.db.row<{ count: bigint }>(
    sql`select count(*) as count from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`,
  )
  return Number(row?.count ?? 0n)
}
const waiting = async () => (await waiters()) > 0

test('a name is compared again with a list that was loaded between its comparison and the commit', async () => {
  const { id } = await addBeneficiary('Ostrenka Valdimure')
  const before = await service.screening.lists.generation(service.db)
  const step = await service.db.transaction(async (tx) => {
    // The worker has compared the name, and waits before it records the result.
    await tx.run(sql`lock table screening.hits in access exclusive mode`)
    const running = service.screener.screenStep()
    await until('the worker waits', waiting)
    await load(await euList(40, { b: ['Ostrenka Valdimure'] }))
    return { running }
  })
  await step.running
  assert.deepEqual(await openOf(id), [])
  const row = await service.db.row<{ generation: number }>(
    sql`select generation from screening.subjects where id = ${id}`,
  )
  assert.equal(row?.generation, before, 'the result names the list that it was found by')
  await work()
  assert.deepEqual([(await hitOf(id)).generation, (await hitOf(id)).score], [before + 1, 100])
})

test('a decision records the list of its hit, even if another list is loaded before it commits', async () => {
  await load(await euList(41, { c: ['Marvenka Quostrel', 'Marvenka Quostrell'] }))
  const { id } = await addBeneficiary('Marvena Quostrell')
  await work()
  const hit = await hitOf(id)
  const decision = await service.db.transaction(async (tx) => {
    await tx.rows(
      sql`select id from screening.hits where partner_id = ${partner.partnerId} and id = ${hit.id} for update`,
    )
    const running = decide(hit, 'clear', 'Sam Staff')
    running.catch(() => undefined)
    await until('the decision waits', waiting)
    await load(await euList(42, { c: ['Marvenka Quostrel', 'Marvenka Quostrell', 'Quostrella'] }))
    return { running }
  })
  await decision.running
  const [taken] = await service.screening.decisionsOf(service.db, partner.partnerId, hit.id)
  assert.equal(taken?.generation, hit.generation)
  await work()
  const next = await hitOf(id)
  assert.deepEqual(
    [next.replaces, next.generation],
    [hit.id, hit.generation + 1],
    'the changed entry is decided about again',
  )
})

test('a name that changes during its screening is screened again, and the old result is not recorded', async () => {
  const { id } = await addBeneficiary('Borislav Tremurov')
  const screener = createScreener({
    heldPayments: noPayments,
    ...service,
    lists: service.screening.lists,
    partnerIds: service.access.partnerIds,
    idsAfter: () => Promise.resolve([]),
    subjectOf: async (tx, key) => {
      const subject = await service.beneficiaries.subjectOf(tx, key.partnerId, key.id)
      if (key.id === id) await service.beneficiaries.update(key.partnerId, { id, name: 'Grace Hopper' })
      return subject
    },
  })
  await screener.screenStep()
  assert.deepEqual(await openOf(id), [])
  await work()
  assert.equal((await hitOf(id)).name, 'Borislav Tremurov', 'the name that it had is screened as well')
})

test('two workers screen each name exactly once, and the names of a dead worker are due after its lease', async () => {
  const { db, clock, screening, screener } = service
  const ids = await Promise.all(Array.from({ length: 8 }, async () => (await addBeneficiary('Borislav Tremurov')).id))
  await Promise.all([screener.screenStep(), screener.screenStep(), screener.screenStep()])
  await work()
  for (const id of ids) assert.equal((await openOf(id)).length, 1)
  const { id } = await addBeneficiary('Borislav Tremurov')
  const dead = createScreener({
    heldPayments: noPayments,
    ...service,
    lists: screening.lists,
    partnerIds: service.access.partnerIds,
    idsAfter: () => Promise.resolve([]),
    subjectOf: () => Promise.reject(new Error('the process has died')),
  })
  await dead.screenStep()
  await work()
  assert.deepEqual(await openOf(id), [])
  clock.advance(minuteMs)
  await work()
  assert.equal((await openOf(id)).length, 1)
  const progress = await screening.progressOf(db, partner.partnerId, await screening.lists.generation(db))
  assert.equal(progress.due, 0n)
})

test('an erasure keeps a subject with a hit that the worker opens meanwhile', async () => {
  const { db, screening } = service
  const { id } = await addBeneficiary('Borislav Tremurov')
  await work()
  const cleared = await hitOf(id)
  for (const staff of ['Ada', 'Grace']) await decide(cleared, 'clear', staff)
  await service.beneficiaries.update(partner.partnerId, { id, name: 'Qadir Yusuf al-Zhabari' })
  const { working, erasing } = await db.transaction(async (tx) => {
    await tx.rows(sql`select id from screening.hits where id = ${cleared.id} for update`)
    const working = work()
    await until('the worker has locked the subject, and waits for the hit', () =>
      waiters().then((count) => count === 1),
    )
    const erasing = db.transaction((own) => screening.forget(own, partner.partnerId, [id]))
    await until('the erasure waits for the worker', () => waiters().then((count) => count === 2))
    return { working, erasing }
  })
  await Promise.all([working, erasing])
  assert.equal((await hitOf(id)).entryId, '9100002')
  assert.equal((await shown(cleared)).status, 'cleared')
  assert.equal((await screening.decisionsOf(db, partner.partnerId, cleared.id)).length, 2)
  for (const staff of ['Ada', 'Grace']) await decide(await hitOf(id), 'clear', staff)
  await db.transaction((tx) => screening.forget(tx, partner.partnerId, [id]))
  assert.equal(await screening.hit(partner.partnerId, cleared.id), undefined, 'without an open hit it is erased')
})

test('a partner from another database is screened again', async () => {
  const { db, screening } = service
  await db.transaction((tx) => screening.forgetGenerations(tx, partner.partnerId))
  const generation = await screening.lists.generation(db)
  const before = await screening.progressOf(db, partner.partnerId, generation)
  assert.equal(before.due, before.subjects)
  const open = (await screening.openHits(undefined, 1000)).length
  await work()
  assert.equal((await screening.openHits(undefined, 1000)).length, open, 'the same hits stand')
})

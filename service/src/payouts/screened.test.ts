/** Payouts that wait for decisions about names, vessels and countries. */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { beforeEach, suite, test } from 'node:test'
import { rawNumber } from '@partner-payments/wire'
import { addPartner, balanceOf, ip, pay, stepMsDefault, type TestPartner } from '../../../test/support/composition.ts'
import { until } from '../../../test/support/until.ts'
import { Unreachable } from '../kernel/api/index.ts'
import { newId, present, secondMs } from '../kernel/index.ts'
import { sql } from '../postgres/index.ts'
import { type Hit, readSanctionsList } from '../screening/index.ts'
import { instructionIdOf } from './rules.ts'
import { screenedParties } from './screen.ts'
import type { Connector } from '../rails/index.ts'
import { processBankNotifications, settlementJobs, submitDuePayouts } from '../banks/settlement/index.ts'
import { createSessions } from '../../../test/support/checkout.ts'
import {
  addHolder,
  amount,
  decideAll,
  dispositionFor,
  screenAll,
  sendCredit,
  depositState,
} from '../../../test/support/screening/held.ts'
import { useModules } from '../../../test/support/fixture.ts'
import { refused } from '../../../test/support/refusals.ts'
import { operatorPartnerId } from '../cases/index.ts'

suite('names', async () => {
  const service = await useModules()
  // The payees of all tests have one account, which a test that confirms a payee holds for every partner.
  const thaw = () => service.db.run(sql`delete from screening.frozen_accounts`)
  beforeEach(thaw)

  async function* bytesOf(file: string): AsyncGenerator<Uint8Array> {
    yield await readFile(new URL(`../screening/samples/${file}`, import.meta.url))
  }
  const loadList = async () => service.screening.lists.load(await readSanctionsList(bytesOf('un.xml')), 'Sam Staff')
  async function screen(): Promise<void> {
    while ((await service.screener.sweepStep()) > 0);
    while ((await service.screener.screenStep()) > 0);
  }
  const submit = async () => {
    service.clock.advance(31 * secondMs)
    await submitDuePayouts(service.settlement)
  }

  /** A payout of 10.00 to a beneficiary of this name. */
  async function payoutTo(name: string, iban = 'DE89370400440532013000') {
    const partner = await addPartner(service, 1_000_00n)
    const account = { iban, currency: 'EUR', customerId: partner.customer.id }
    const beneficiary = await service.beneficiaries.create(partner.partnerId, { ...account, name })
    const { payout } = await pay(service, partner, '10.00', { beneficiaryId: beneficiary.id })
    const get = () => service.payouts.get(partner.partnerId, payout.id)
    const steps = async () =>
      (await service.transactions.get(partner.partnerId, payout.reference)).timeline.map(({ step }) => step)
    const hits = async () =>
      (await service.screening.openHits(undefined, 100)).filter(({ subjectId }) => subjectId === beneficiary.id)
    const decide = async (outcome: 'clear' | 'confirm') => {
      const open = await hits()
      assert.ok(open.length > 0, 'the beneficiary has a hit')
      await decideHits(open, outcome)
    }
    return { partner, payout, beneficiary, get, steps, hits, decide, decideHits }
  }

  async function decideHits(hits: readonly Hit[], outcome: 'clear' | 'confirm'): Promise<void> {
    for (const hit of hits)
      for (const staff of ['Sam Staff', 'Kim Staff']) {
        const { partnerId, id } = hit
        const disposition = dispositionFor(hit, outcome)
        const deciding = { partnerId, id, outcome, disposition, staff, note: 'Compared with the passport.' }
        await service.db.transaction((tx) => service.screening.decide(tx, deciding)).catch(() => undefined)
      }
  }

  const listed = 'Borislav Tremurov'

  test('without a list payouts continue without screening', async () => {
    const { get } = await payoutTo(listed)
    await submit()
    assert.equal((await get()).status, 'Sent')
  })

  test('with a list a payout waits for screening, then for the decision about a hit, and continues when it is cleared', async () => {
    await loadList()
    const { get, steps, decide, partner } = await payoutTo(listed)
    await submit()
    assert.equal((await get()).status, 'Pending', 'its names were not compared yet')
    await screen()
    for (let rounds = 0; rounds < 3; rounds += 1) await submit()
    assert.equal((await get()).status, 'Pending')
    assert.deepEqual(await steps(), ['Created', 'Reserved', 'Screening'])
    assert.equal((await balanceOf(service, partner.partnerId)).reserved, 10_00n)
    await decide('clear')
    await submit()
    assert.equal((await get()).status, 'Sent')
    assert.deepEqual(await steps(), ['Created', 'Reserved', 'Screening', 'Accepted', 'Sent'])
  })

  /** Two persons close the case of a frozen payout. */
  async function closeCase(
    { partnerId, id }: { readonly partnerId: string; readonly id: string },
    work: () => Promise<unknown> = submit,
  ): Promise<void> {
    const closing = { partnerId, id, action: 'refuse', staff: 'Sam Staff', note: 'The authority was told.' } as const
    const { db, decisions } = service
    await db.transaction((tx) => decisions.propose(tx, closing))
    await work()
    await assert.rejects(
      db.transaction((tx) => decisions.approve(tx, { partnerId, id, staff: ' sam  STAFF' })),
      refused('validation_failed'),
    )
    await db.transaction((tx) => decisions.approve(tx, { partnerId, id, staff: 'Kim Staff' }))
    await work()
  }
  const frozen = { posted: 1_000_00n, reserved: 10_00n, available: 990_00n }

  test('a confirmed hit freezes the payout: its money remains reserved until two people close its case', async () => {
    const { get, steps, decide, partner, payout } = await payoutTo(listed)
    await screen()
    await submit()
    await decide('confirm')
    for (let rounds = 0; rounds < 3; rounds += 1) await submit()
    await assert.rejects(service.payouts.cancel(partner.partnerId, payout.id), refused('payout_not_cancellable'))
    assert.equal((await get()).status, 'Pending')
    assert.deepEqual(await balanceOf(service, partner.partnerId), frozen)
    const again = await pay(service, partner, '10.00', { beneficiaryId: payout.beneficiaryId ?? '' })
    await submit()
    assert.equal((await service.payouts.get(partner.partnerId, again.payout.id)).status, 'Pending')
    await closeCase(payout)
    const { status, errorKey } = await get()
    assert.deepEqual([status, errorKey], ['Failed', 'RecipientBlocked'])
    assert.deepEqual(await steps(), ['Created', 'Reserved', 'Screening', 'Failed'])
    assert.deepEqual(await balanceOf(service, partner.partnerId), frozen, 'the other one is frozen still')
  })

  test('a withdrawn decision releases a frozen payout and its case', async () => {
    const { get, decideHits, hits, partner, payout } = await payoutTo(listed)
    await screen()
    await submit()
    const found = await hits()
    await decideHits(found, 'confirm')
    await submit()
    await decideHits(found, 'clear')
    await submit()
    assert.equal((await get()).status, 'Sent')
    const { resolution } = (await service.cases.byId(service.db, partner.partnerId, payout.id)) ?? {}
    assert.equal(resolution, 'released')
  })

  test('while the bank is unavailable, a stopped payout ends, and a cleared payout waits', async () => {
    const [refusedOne, clearedOne] = [await payoutTo(listed, 'FR1420041010050500013M02606'), await payoutTo(listed)]
    await screen()
    await submit()
    const bank = present(service.settlement.connectors[0], 'the sandbox has a bank')
    const probe = Promise.withResolvers<never>()
    let calls = 0
    // Five failures open the breaker, and the probe of it hangs.
    const call = () =>
      (calls += 1) > 5 ? probe.promise : Promise.reject(new Unreachable('downstream_unreachable', 'no route'))
    const away: Connector = { ...bank, find: call, instruct: call }
    const job = present(settlementJobs({ ...service.settlement, connectors: [away] })[0], 'payouts have a job')
    const run = () => job.run()
    await pay(service, await addPartner(service, 1_000_00n), '1.00')
    await screen()
    await until('the probe is under way', async () => {
      service.clock.advance(secondMs)
      await run()
      return calls > 5
    })
    await refusedOne.decide('confirm')
    await clearedOne.decide('clear')
    const runDue = async () => {
      service.clock.advance(31 * secondMs)
      while ((await run()) > 0);
    }
    await runDue()
    await closeCase(refusedOne.payout, runDue)
    const stand = async () => [(await refusedOne.get()).status, (await clearedOne.get()).status]
    assert.deepEqual(await stand(), ['Failed', 'Pending'])
    probe.reject(new Unreachable('downstream_unreachable', 'no route'))
    await job.drain?.()
    await submit()
    assert.deepEqual(await stand(), ['Failed', 'Sent'])
  })

  /** The changes that a partner may make to a payee or a customer while a payout to a listed name waits. */
  const evasions: Readonly<Record<string, (made: Awaited<ReturnType<typeof payoutTo>>) => Promise<unknown>>> = {
    'another name of the beneficiary': ({ partner, beneficiary: { id } }) =>
      service.beneficiaries.update(partner.partnerId, { id, name: 'Grace Hopper' }),
    'two names behind each other': async ({ partner, beneficiary: { id } }) => {
      await service.beneficiaries.update(partner.partnerId, { id, name: 'Grace Hopper' })
      await service.beneficiaries.update(partner.partnerId, { id, name: 'Ada Lovelace' })
    },
    'another alias': ({ partner, beneficiary: { id } }) =>
      service.beneficiaries.update(partner.partnerId, { id, alias: 'Grace' }),
    'the removal of the beneficiary': ({ partner, beneficiary: { id } }) =>
      service.beneficiaries.remove(partner.partnerId, id),
  }

  for (const [what, evade] of Object.entries(evasions))
    for (const isFound of [false, true])
      test(`${what} does not release a payout, ${isFound ? 'after' : 'before'} the hit is found`, async () => {
        const made = await payoutTo(listed)
        if (isFound) await screen()
        await evade(made)
        await screen()
        for (let rounds = 0; rounds < 2; rounds += 1) await submit()
        assert.equal((await made.get()).status, 'Pending')
        await made.decide('confirm')
        await evade(made).catch(() => undefined)
        await screen()
        await submit()
        assert.equal((await made.get()).status, 'Pending')
      })

  test('a new name of the customer, an owner or the company does not release a payout', async () => {
    const partner = await addPartner(service, 1_000_00n)
    const { partnerId, customer } = partner
    const rename = (kyc: Readonly<Record<string, string | null>>) =>
      service.customers.update(partnerId, customer.id, { kyc })
    for (const [listedAs, renamed] of [
      [{ fullName: listed }, { fullName: 'Grace Hopper' }],
      [{ legalName: listed }, { legalName: null }],
      [
        { uboFirstName1: 'Borislav', uboLastName1: 'Tremurov' },
        { uboFirstName1: 'Grace', uboLastName1: 'Hopper' },
      ],
    ] as const) {
      await rename(listedAs)
      const { payout } = await pay(service, partner, '10.00')
      await rename(renamed)
      await screen()
      await submit()
      assert.equal((await service.payouts.get(partnerId, payout.id)).status, 'Pending')
      const open = (await service.screening.openHits(undefined, 100)).filter(
        ({ subjectId }) => subjectId === customer.id,
      )
      assert.ok(open.length > 0)
      await decideHits(open, 'clear')
      await submit()
      assert.equal((await service.payouts.get(partnerId, payout.id)).status, 'Sent')
    }
  })

  test('the account of a listed payee is held under any name and any other beneficiary', async () => {
    const { partner, beneficiary, decide } = await payoutTo(listed)
    await screen()
    await service.beneficiaries.remove(partner.partnerId, beneficiary.id)
    const account = { iban: 'de89 3704 0044 0532 0130 00', currency: 'EUR' }
    const other = await service.beneficiaries.create(partner.partnerId, { ...account, name: 'Grace Hopper' })
    const { payout } = await pay(service, partner, '10.00', { beneficiaryId: other.id })
    await screen()
    await submit()
    const status = async () => (await service.payouts.get(partner.partnerId, payout.id)).status
    assert.equal(await status(), 'Pending')
    await decide('confirm')
    await submit()
    assert.equal(await status(), 'Pending')
    const elsewhere = { iban: 'FR1420041010050500013M02606', currency: 'EUR', name: 'Grace Hopper' }
    const free = await service.beneficiaries.create(partner.partnerId, elsewhere)
    const paid = await pay(service, partner, '10.00', { beneficiaryId: free.id })
    await screen()
    await submit()
    assert.equal((await service.payouts.get(partner.partnerId, paid.payout.id)).status, 'Sent')
  })

  test('the account of a confirmed payee is held for every partner, under any name, until the decision is withdrawn', async () => {
    const { decide, decideHits: decideOn, hits } = await payoutTo(listed)
    const elsewhere = await addPartner(service, 1_000_00n)
    await screen()
    const found = await hits()
    await decide('confirm')
    const { payout } = await pay(service, elsewhere, '10.00')
    const { partnerId } = elsewhere
    const status = async () => (await service.payouts.get(partnerId, payout.id)).status
    await screen()
    await submit()
    assert.equal(await status(), 'Pending')
    const parties = screenedParties(await service.payouts.get(partnerId, payout.id))
    assert.deepEqual(
      (await service.screening.hitsOn(partnerId, parties)).map(({ id }) => id),
      found.map(({ id }) => id),
      'staff see the hit of the other partner',
    )
    await decideOn(found, 'clear')
    await submit()
    assert.equal(await status(), 'Sent')
  })

  test('the partner may cancel a payout that waits for a decision', async () => {
    const { get, partner, payout } = await payoutTo(listed)
    await screen()
    await submit()
    await service.payouts.cancel(partner.partnerId, payout.id)
    await submit()
    assert.equal((await get()).status, 'Cancelled')
    assert.equal((await balanceOf(service, partner.partnerId)).reserved, 0n)
  })

  test('a payout to an unlisted name continues as soon as it is screened', async () => {
    const { get, steps } = await payoutTo('Grace Hopper')
    await screen()
    await submit()
    assert.equal((await get()).status, 'Sent')
    assert.deepEqual(await steps(), ['Created', 'Reserved', 'Accepted', 'Sent'])
  })

  test('a payout that is cancelled during screening has exactly one outcome', async () => {
    for (let round = 0; round < 5; round += 1) {
      await thaw()
      const { get, decide, partner, payout } = await payoutTo(listed)
      await screen()
      await submit()
      await decide(round % 2 === 0 ? 'clear' : 'confirm')
      const [cancelled] = await Promise.allSettled([service.payouts.cancel(partner.partnerId, payout.id), submit()])
      const { status } = await get()
      assert.equal(status, round % 2 === 1 ? 'Pending' : cancelled.status === 'fulfilled' ? 'Cancelled' : 'Sent')
      const { reserved } = await balanceOf(service, partner.partnerId)
      assert.equal(reserved, status === 'Cancelled' ? 0n : 10_00n)
    }
  })

  for (const has of [false, true])
    test(`an attempt whose answer was lost: the bank ${has ? 'has the payment, which continues' : 'has no payment, and gets none'}`, async () => {
      const { get, decide, partner, payout } = await payoutTo(listed)
      await screen()
      await submit()
      await decide('confirm')
      await service.db.run(sql`update payouts.payouts set status = 'Processing', send_attempts = 1
      where partner_id = ${partner.partnerId} and id = ${payout.id}`)
      if (has) {
        const { connector: _connector, ...instruction } = payout
        await service.bank.instruct([{ ...instruction, id: instructionIdOf(payout) }])
      }
      for (let rounds = 0; rounds < 2; rounds += 1) await submit()
      assert.equal((await get()).status, has ? 'Sent' : 'Processing')
    })
})

suite('texts and countries', async () => {
  let partner: TestPartner
  async function* sample(): AsyncGenerator<Uint8Array> {
    yield await readFile(new URL('../screening/samples/ofac.xml', import.meta.url))
  }
  const service = await useModules()
  await service.db.transaction((tx) => service.access.addOperator(tx, operatorPartnerId))
  await service.screening.lists.load(await readSanctionsList(sample()), 'Sam Staff')
  beforeEach(async () => {
    partner = await addPartner(service, 1_000_00n)
    await screenAll(service)
  })
  const sessions = createSessions(() => service)

  const submit = async () => {
    service.clock.advance(31 * secondMs)
    await submitDuePayouts(service.settlement)
  }
  const statusOf = async ({ partnerId, id }: { readonly partnerId: string; readonly id: string }) =>
    (await service.payouts.get(partnerId, id)).status
  const openHits = async (subjectId: string) =>
    (await service.screening.openHits(undefined, 1000)).filter((hit) => hit.subjectId === subjectId)
  const subjects = async () =>
    (await service.db.rows<{ id: string }>(sql`select id from screening.subjects where kind = 'payout'`)).length

  test('a payout whose reference has a listed IMO number needs a decision by two people, and other references are not screened', async () => {
    const before = await subjects()
    const plain = (await pay(service, partner, '10.00', { reference: 'Invoice 9999993' })).payout
    const other = (await pay(service, partner, '10.00', { reference: 'Freight IMO 9074729' })).payout
    const held = (await pay(service, partner, '10.00', { reference: 'Freight IMO 9999993' })).payout
    await submit()
    assert.deepEqual([await statusOf(plain), await statusOf(other), await statusOf(held)], ['Sent', 'Sent', 'Pending'])
    assert.equal((await subjects()) - before, 1)
    await screenAll(service)
    const [hit, ...more] = await openHits(held.id)
    assert.equal(more.length, 0)
    const { subjectKind, role, name, listedName, score, entryId } = hit ?? {}
    assert.deepEqual(
      { subjectKind, role, name, listedName, score, entryId },
      {
        subjectKind: 'payout',
        role: 'text',
        name: 'Freight IMO 9999993',
        listedName: 'IMO 9999993',
        score: 100,
        entryId: '99003',
      },
    )
    await submit()
    assert.equal(await statusOf(held), 'Pending')
    const { timeline } = await service.transactions.get(partner.partnerId, held.reference)
    assert.equal(timeline.at(-1)?.step, 'Screening')
    assert.equal(await decideAll(service, partner.partnerId, 'clear'), 2)
    await submit()
    assert.equal(await statusOf(held), 'Sent')
  })

  test('a name next to a word for a vessel needs a decision by one person; once confirmed, the payout is frozen and cannot be cancelled', async () => {
    const { payout } = await pay(service, partner, '10.00', { reference: 'Charter of MV Northern Velmora' })
    await submit()
    await screenAll(service)
    assert.equal((await openHits(payout.id))[0]?.score, 90)
    assert.equal(await decideAll(service, partner.partnerId, 'confirm'), 1)
    await submit()
    assert.equal((await service.cases.byId(service.db, partner.partnerId, payout.id))?.kind, 'sanctions_hold')
    await assert.rejects(service.payouts.cancel(partner.partnerId, payout.id))
    assert.equal(await statusOf(payout), 'Pending')
    // The account of the payee is not frozen: the vessel is listed, and not the payee.
    const next = (await pay(service, partner, '10.00')).payout
    await submit()
    assert.equal(await statusOf(next), 'Sent')
  })

  test('a waiting payout is screened again when a list is loaded, and an open hit stays when its entry leaves the list', async () => {
    const { payout } = await pay(service, partner, '10.00', { reference: 'MV Northern Velmora IMO 9999993' })
    await submit()
    await screenAll(service)
    await decideAll(service, partner.partnerId, 'clear')
    const list = await readSanctionsList(sample())
    const later = (days: number) => new Date(list.publishedAt.getTime() + days * 86_400_000)
    const renamed = list.entries.map((entry) => (entry.id === '99003' ? { ...entry, programmes: ['XXZ'] } : entry))
    await service.screening.lists.load({ ...list, publishedAt: later(1), hash: '1', entries: renamed }, 'Sam Staff')
    await submit()
    assert.equal(await statusOf(payout), 'Pending', 'the decision was about the entry before')
    await screenAll(service)
    assert.equal((await openHits(payout.id)).length, 1)
    const without = list.entries.filter(({ id }) => id !== '99003')
    await service.screening.lists.load({ ...list, publishedAt: later(2), hash: '2', entries: without }, 'Sam Staff')
    await screenAll(service)
    await submit()
    assert.equal(await statusOf(payout), 'Pending', 'only a person ends an open hit')
    await decideAll(service, partner.partnerId, 'clear')
    await submit()
    assert.equal(await statusOf(payout), 'Sent')
    await service.screening.lists.load({ ...list, publishedAt: later(3), hash: '3' }, 'Sam Staff')
    await screenAll(service)
    assert.deepEqual(await openHits(payout.id), [], 'what has left is not compared again')
  })

  test('a file is loaded again by a version that reads more of its fields', async () => {
    const list = await readSanctionsList(sample())
    const later = { ...list, publishedAt: new Date(list.publishedAt.getTime() + 9 * 86_400_000), hash: 'same' }
    const poorer = later.entries.map(({ craft: _craft, ...entry }) => entry)
    await service.screening.lists.load({ ...later, entries: poorer }, 'Sam Staff')
    const again = await service.screening.lists.load(later, 'Sam Staff')
    assert.deepEqual([again.isRepetition, again.changed, again.added, again.removed], [false, 1, 0, 0])
    assert.equal((await service.screening.lists.load(later, 'Sam Staff')).isRepetition, true)
  })

  const processAll = async () => {
    service.clock.advance(10 * stepMsDefault)
    // The first report finds a list that this process has not read.
    for (let rounds = 0; rounds < 3; rounds += 1) while ((await processBankNotifications(service.settlement)) > 0);
  }

  test('money whose remittance names a listed vessel waits in suspense, and is credited by the decision', async () => {
    const { partnerId, iban } = await addHolder(service, 'Ada Lovelace')
    await sendCredit(service, iban, 'Grace Hopper', {}, 'Freight vessel Northern Velmora')
    await sendCredit(service, iban, 'Grace Hopper', {}, 'Freight vessel Southern Velmora')
    await processAll()
    const waiting = await depositState(service, partnerId)
    assert.deepEqual(
      [waiting.statuses.toSorted(), waiting.balance, waiting.suspense],
      [['Completed', 'Screening'], amount, amount],
    )
    await screenAll(service)
    assert.equal(await decideAll(service, partnerId, 'clear'), 1)
    service.clock.advance(6 * secondMs)
    await service.deposits.screenDue(100)
    assert.equal((await depositState(service, partnerId)).balance, 2n * amount)
  })

  test('a checkout session with a line item that names a listed vessel waits, and so does one paid by a transfer with its number', async () => {
    const lineItems = [{ name: 'Spare part for IMO 9999993', quantity: 1, amount: rawNumber('49.90') }]
    const opened = await sessions.open({ lineItems })
    await screenAll(service)
    await sessions.pay(opened)
    await processAll()
    assert.equal(await sessions.statusOf(opened), 'Processing')
    const { partnerId } = opened.partner
    assert.deepEqual((await depositState(service, partnerId)).statuses, ['Screening'])
    await screenAll(service)
    const hits = (await service.screening.openHits(undefined, 1000)).filter((hit) => hit.partnerId === partnerId)
    assert.deepEqual(
      hits.map(({ subjectKind, role, name }) => [subjectKind, role, name]),
      [['payer', 'text', 'Spare part for IMO 9999993']],
    )
    const reference = await sessions.open()
    await screenAll(service)
    const { creditorReference, iban } = (
      await service.db.rows<{ creditorReference: string; iban: string }>(
        sql`select creditor_reference, iban from checkout.sessions where id = ${reference.session.id}`,
      )
    )[0] ?? { creditorReference: '', iban: '' }
    const debtor = { account: 'DE1', bic: 'COBADEFFXXX', name: 'Grace Hopper', countryCode: 'DE', address: null }
    await service.db.transaction(async (tx) =>
      service.bank.sendCredit(tx, operatorPartnerId, newId(), {
        ...{ account: iban, money: { currency: 'EUR', amount: 49_90n }, debtor, endToEndId: null },
        remittance: `${creditorReference} IMO 9999993`,
      }),
    )
    await processAll()
    assert.deepEqual((await depositState(service, reference.partner.partnerId)).statuses, ['Screening'])
  })

  test('a payee and a customer whose names contain the name of a listed vessel are hits', async () => {
    const payee = await service.beneficiaries.create(partner.partnerId, {
      ...{ iban: 'DE89370400440532013000', currency: 'EUR', name: 'Owners of the vessel Northern Velmora' },
    })
    await screenAll(service)
    assert.deepEqual(
      (await openHits(payee.id)).map(({ role, score }) => [role, score]),
      [['name', 90]],
    )
  })

  test('a country rule holds a refund that was accepted before the rule', async () => {
    const opened = await sessions.open()
    const { partner: shop, session } = opened
    await screenAll(service)
    await service.checkout.simulate(shop.partnerId, session.id, { step: 'credit' }, ip)
    await processAll()
    const body = { amount: rawNumber('9.90'), idempotencyKey: newId() }
    const { payout } = await service.checkout.refund(shop.caller, session.id, body, ip)
    const { creditorCountry: country } = payout
    assert.match(country, /^[A-Z]{2}$/)
    const change = { countries: [country], sides: ['payouts'], action: 'refuse', staff: 'Sam Staff' } as const
    await service.db.transaction((tx) => service.screening.countries.change(tx, change))
    await submit()
    assert.equal(await statusOf(payout), 'Pending')
    await screenAll(service)
    await submit()
    const hits = await openHits(payout.id)
    assert.deepEqual(
      hits.map(({ subjectKind, source, name }) => [subjectKind, source, name]),
      [['payout', 'countries', country]],
    )
    assert.equal(await statusOf(payout), 'Pending')
    // The rule also holds payees of this country.
    await decideAll(service, shop.partnerId, 'clear')
    await submit()
    assert.equal(await statusOf(payout), 'Sent')
  })
})

/** Deposits that wait for decisions about names. */
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { rawNumber } from '@partner-payments/wire'
import { Refusal } from '../kernel/api/index.ts'
import { type Currency, newId, present, secondMs } from '../kernel/index.ts'
import { sql } from '../postgres/index.ts'
import { processBankNotifications } from '../banks/settlement/index.ts'
import { operatorPartnerId } from '../cases/index.ts'
import { createTestService, ip, stepMsDefault } from '../../../test/support/composition.ts'
import {
  addHolder,
  amount,
  decideAll,
  dispositionFor,
  listedName,
  sampleList,
  screenAll,
  sendCredit,
  depositState,
} from '../../../test/support/screening/held.ts'
import { checkLedger } from '../../../test/model/ledger-audit.ts'
import { createSessions } from '../../../test/support/checkout.ts'
import { createBankFolders, createIncomingBank, entryOf, reportXml } from '../../../test/support/iso-incoming.ts'
import { useModules } from '../../../test/support/fixture.ts'

suite('deposits', async () => {
  const service = await useModules()
  await service.db.transaction((tx) => service.access.addOperator(tx, operatorPartnerId))

  const process = () => processBankNotifications(service.settlement)
  async function arrived(): Promise<void> {
    service.clock.advance(stepMsDefault)
    await process()
  }
  const look = async () => {
    service.clock.advance(6 * secondMs)
    return service.deposits.screenDue(100)
  }
  const timelineOf = async (partnerId: string, reference = '') =>
    (await service.transactions.get(partnerId, reference)).timeline.map(({ step, status }) => `${step}:${status}`)
  const eventsOf = async (partnerId: string, reference = '') =>
    (
      await service.db.rows<{ type: string }>(
        sql`select type from events.events where partner_id = ${partnerId} and reference = ${reference} order by id`,
      )
    ).map(({ type }) => type.replace('partner.customer.', ''))
  const waiting = {
    statuses: ['Screening'],
    balance: 0n,
    suspense: amount,
    settlement: -amount,
    openCases: [`sanctions_hold ${amount}`],
  }
  const credited = { statuses: ['Completed'], balance: amount, suspense: 0n, settlement: -amount, openCases: [] }
  const frozen = { ...waiting, statuses: ['Failed'] }
  const moneyOf = async (partnerId: string) => {
    const { references: _references, ...rest } = await depositState(service, partnerId)
    await checkLedger(service.db, partnerId)
    return rest
  }

  /** Money for a listed customer that waits for a decision. */
  async function held(name = listedName, payer?: string) {
    const holder = await addHolder(service, name)
    const creditId = await sendCredit(service, holder.iban, payer)
    await arrived()
    const { references } = await depositState(service, holder.partnerId)
    return { ...holder, creditId, reference: references[0] ?? '' }
  }

  test('without a list, money is credited whatever the name of the payer', async () => {
    const { partnerId } = await held()
    assert.deepEqual(await moneyOf(partnerId), credited)
  })

  test('money of a listed customer waits in suspense and is credited when it is cleared', async () => {
    await service.screening.lists.load(await sampleList(), 'Sam Staff')
    const { partnerId, reference } = await held()
    assert.deepEqual(await moneyOf(partnerId), waiting)
    assert.deepEqual(await timelineOf(partnerId, reference), [
      'Created:Pending',
      'Accepted:Pending',
      'Screening:Pending',
    ])
    assert.deepEqual(await eventsOf(partnerId, reference), ['deposit.accepted'])
    await look()
    assert.deepEqual(await moneyOf(partnerId), waiting, 'no person has decided')
    await screenAll(service)
    await decideAll(service, partnerId, 'clear')
    await look()
    assert.deepEqual(await moneyOf(partnerId), credited)
    assert.deepEqual((await timelineOf(partnerId, reference)).slice(2), [
      'Screening:Pending',
      'Settled:Completed',
      'Credited:Completed',
    ])
    assert.deepEqual(await eventsOf(partnerId, reference), [
      'deposit.accepted',
      'deposit.completed',
      'transaction.status.changed',
    ])
  })

  test('cleared money that the account refuses remains in suspense, and two people send it back', async () => {
    await service.screening.lists.load(await sampleList(), 'Sam Staff')
    const { partnerId } = await held()
    const block = { partnerId, account: { currency: 'EUR' }, state: 'BlockedInbound', reason: 'CourtOrder' } as const
    await service.db.transaction((tx) => service.accounts.changeState(tx, { ...block, note: 'Order 17', staff: 'Ada' }))
    await screenAll(service)
    await decideAll(service, partnerId, 'clear')
    await look()
    assert.deepEqual(await moneyOf(partnerId), frozen)
    const [found] = (await service.cases.list(undefined, 1000)).filter((row) => row.partnerId === partnerId)
    const key = { partnerId, id: found?.id ?? '' }
    const proposing = { ...key, action: 'return', staff: 'Sam Staff', note: 'The account is blocked.' } as const
    await service.db.transaction((tx) => service.decisions.propose(tx, proposing))
    await service.db.transaction((tx) => service.decisions.approve(tx, { ...key, staff: 'Ada Other' }))
    const decided = await service.cases.byId(service.db, partnerId, key.id)
    assert.notEqual(decided?.returningSince, null)
  })

  for (const isFound of [false, true])
    test(`a new name of the customer releases no money, ${isFound ? 'after' : 'before'} the hit is found`, async () => {
      const { partnerId, customer, iban } = await addHolder(service, 'Ada Lovelace')
      const rename = (fullName: string) => service.customers.update(partnerId, customer.id, { kyc: { fullName } })
      await rename(listedName)
      if (isFound) await screenAll(service)
      await sendCredit(service, iban)
      await rename('Ada Lovelace')
      await screenAll(service)
      await arrived()
      await rename('Grace Hopper')
      await screenAll(service)
      await look()
      assert.deepEqual(await moneyOf(partnerId), waiting)
      await decideAll(service, partnerId, 'confirm')
      await rename('Ada Lovelace')
      await screenAll(service)
      await look()
      assert.deepEqual(await moneyOf(partnerId), frozen)
      await sendCredit(service, iban)
      await arrived()
      await look()
      assert.deepEqual((await moneyOf(partnerId)).balance, 0n, 'a later deposit is frozen as well')
    })

  test('the account of a confirmed payer is frozen under any name, and the account of an open hit is not', async () => {
    const { partnerId, iban } = await held('Ada Lovelace', listedName)
    await screenAll(service)
    await sendCredit(service, iban, 'Grace Hopper')
    await arrived()
    assert.deepEqual((await moneyOf(partnerId)).statuses, ['Screening', 'Completed'])
    await decideAll(service, partnerId, 'confirm')
    await sendCredit(service, iban, 'Grace Hopper')
    await arrived()
    await look()
    assert.deepEqual((await moneyOf(partnerId)).statuses, ['Failed', 'Completed', 'Failed'])
  })

  test('a confirmed match freezes the money, which then only a decision about the case can release', async () => {
    const { partnerId, reference } = await held()
    const [found] = (await service.cases.list(undefined, 1000)).filter((row) => row.partnerId === partnerId)
    const proposing = {
      partnerId,
      id: found?.id ?? '',
      action: 'credit',
      staff: 'Sam Staff',
      note: 'A licence.',
    } as const
    const propose = () => service.db.transaction((tx) => service.decisions.propose(tx, proposing))
    await assert.rejects(propose(), (error) => error instanceof Refusal && /decide the hit/.test(error.detail ?? ''))
    await screenAll(service)
    await decideAll(service, partnerId, 'confirm')
    await look()
    assert.deepEqual(await moneyOf(partnerId), frozen)
    assert.deepEqual((await timelineOf(partnerId, reference)).slice(2), ['Screening:Pending', 'Failed:Unsuccessful'])
    assert.deepEqual((await eventsOf(partnerId, reference)).slice(1), ['deposit.failed', 'transaction.status.changed'])
    await look()
    assert.deepEqual(await moneyOf(partnerId), frozen, 'it stays frozen')
    await propose()
    await service.db.transaction((tx) => service.decisions.approve(tx, { ...proposing, staff: 'Kim Staff' }))
    assert.deepEqual(await moneyOf(partnerId), { ...credited, statuses: ['Failed'] })
  })

  test('the name of a payer is also screened, and has its own decision', async () => {
    const { partnerId } = await held('Ada Lovelace', 'TREMUROV, Borislav')
    assert.deepEqual(await moneyOf(partnerId), waiting)
    await look()
    assert.deepEqual(await moneyOf(partnerId), waiting, 'the hit is not written yet')
    await screenAll(service)
    const [hit] = (await service.screening.openHits(undefined, 1000)).filter((each) => each.partnerId === partnerId)
    assert.deepEqual([hit?.subjectKind, hit?.role, hit?.name], ['payer', 'payer', 'TREMUROV, Borislav'])
    await decideAll(service, partnerId, 'clear')
    await look()
    assert.deepEqual(await moneyOf(partnerId), credited)
  })

  test('a bank report is not applied until the name in it is screened', async () => {
    const { partnerId, customer, iban } = await addHolder(service, 'Ada Lovelace')
    await service.customers.update(partnerId, customer.id, { kyc: { fullName: 'Ada King' } })
    await sendCredit(service, iban)
    await arrived()
    assert.deepEqual((await moneyOf(partnerId)).statuses, ['Accepted'])
    await process()
    assert.equal((await moneyOf(partnerId)).balance, 0n)
    await screenAll(service)
    await process()
    assert.deepEqual(await moneyOf(partnerId), credited)
  })

  test('a deposit that the bank reports in steps also waits until its name is screened', async () => {
    const { partnerId, caller, customer } = await addHolder(service, listedName)
    const deposit = { customerId: customer.id, amount: 5, currency: 'EUR', outcome: 'completed' } as const
    const { reference } = await service.simulations.deposit(caller, deposit, ip)
    for (let step = 0; step < 5; step += 1) await arrived()
    assert.deepEqual(await moneyOf(partnerId), waiting)
    await screenAll(service)
    await decideAll(service, partnerId, 'clear')
    await look()
    assert.deepEqual(await moneyOf(partnerId), credited)
    assert.deepEqual(
      (await timelineOf(partnerId, reference)).map((entry) => entry.split(':')[0]),
      ['Created', 'Initiated', 'Submitted', 'Accepted', 'Screening', 'Settled', 'Credited'],
    )
  })

  test('nothing remains in suspense if the bank reverses waiting money', async () => {
    const { partnerId, creditId } = await held()
    await service.db.transaction(async (tx) =>
      service.bank.reverseCredit(tx, operatorPartnerId, creditId, {
        money: { currency: 'EUR', amount },
        details: 'The bank cancelled it.',
      }),
    )
    await arrived()
    const nothing = { statuses: ['Failed'], balance: 0n, suspense: 0n, settlement: 0n }
    assert.deepEqual(await moneyOf(partnerId), { ...nothing, openCases: ['credit_reversed null'] })
    await screenAll(service)
    await decideAll(service, partnerId, 'clear')
    await look()
    assert.deepEqual(await moneyOf(partnerId), { ...nothing, openCases: ['credit_reversed null'] })
  })

  test('a repeated report changes nothing while the money waits', async () => {
    const { partnerId, iban, creditId } = await held()
    const debtor = { account: 'DE1', bic: '', name: 'Grace Hopper', countryCode: 'DE', address: null }
    const named = { kind: 'credit.booked', partnerId: operatorPartnerId, id: newId(), subjectId: creditId } as const
    const money = { currency: 'EUR', amount } as const
    const report = { ...named, account: iban, money, debtor, remittance: null, endToEndId: null }
    const again = await Promise.all([1, 2].map(() => service.deposits.processCredit('sandbox', report)))
    assert.deepEqual(
      again.map(({ applied }) => applied),
      [false, false],
    )
    assert.deepEqual(await moneyOf(partnerId), waiting)
  })

  test('a new list without the entry does not release the money: only a decision does', async () => {
    const list = await sampleList()
    const { partnerId } = await held()
    await screenAll(service)
    const next = new Date(list.publishedAt.getTime() + 24 * 3600 * secondMs)
    const entries = list.entries.filter(({ id }) => id !== '9100001')
    await Promise.all([
      service.screening.lists.load({ ...list, hash: newId(), publishedAt: next, entries }, 'Sam Staff'),
      look(),
      look(),
    ])
    await screenAll(service)
    await look()
    assert.deepEqual(await moneyOf(partnerId), waiting)
    await decideAll(service, partnerId, 'clear')
    await look()
    assert.deepEqual(await moneyOf(partnerId), credited)
    const later = new Date(next.getTime() + 24 * 3600 * secondMs)
    await service.screening.lists.load({ ...list, hash: newId(), publishedAt: later }, 'Sam Staff')
  })

  test('concurrent decisions, credits and workers leave one outcome', async () => {
    const other = await createTestService({ url: service.url, now: service.clock.now() })
    try {
      for (const outcome of ['clear', 'confirm', 'clear', 'confirm'] as const) {
        const { partnerId, iban } = await addHolder(service, listedName)
        await sendCredit(service, iban)
        for (const { clock } of [service, other]) clock.advance(stepMsDefault)
        // The decision meets the credit.
        await Promise.all([
          process(),
          processBankNotifications(other.settlement),
          decideAll(service, partnerId, outcome),
        ])
        await process()
        await screenAll(service)
        for (const { clock } of [service, other]) clock.advance(6 * secondMs)
        // Two workers look at it.
        await Promise.all([service.deposits.screenDue(100), other.deposits.screenDue(100)])
        for (const { clock } of [service, other]) clock.advance(6 * secondMs)
        await Promise.all([service.deposits.screenDue(100), other.deposits.screenDue(100)])
        const { statuses, ...rest } = await moneyOf(partnerId)
        assert.deepEqual({ statuses, ...rest }, outcome === 'clear' ? credited : frozen)
      }
    } finally {
      await other.close()
    }
  })

  test('money and status agree if a worker clears money while people confirm the match', async () => {
    for (let round = 0; round < 6; round += 1) {
      const { partnerId } = await held()
      await screenAll(service)
      await decideAll(service, partnerId, 'clear')
      const hits = await service.db.rows<{ id: string }>(
        sql`select id from screening.hits where partner_id = ${partnerId} and ended_at is null`,
      )
      const confirm = async () => {
        for (const { id } of hits)
          for (const staff of ['Sam Staff', 'Kim Staff']) {
            const deciding = {
              partnerId,
              id,
              outcome: 'confirm',
              disposition: 'data_agree',
              staff,
              note: 'The passport.',
            } as const
            await service.db.transaction((tx) => service.screening.decide(tx, deciding))
          }
      }
      await Promise.all([confirm(), look(), look()])
      await look()
      const state = await moneyOf(partnerId)
      assert.deepEqual(state, state.statuses[0] === 'Completed' ? credited : frozen)
    }
  })
})

suite('sources', async () => {
  const service = await useModules()
  await service.db.transaction((tx) => service.access.addOperator(tx, operatorPartnerId))
  await service.screening.lists.load(await sampleList(), 'Sam Staff')
  const folders = await createBankFolders()
  after(() => folders.remove())
  const sessions = createSessions(() => service)

  type Holder = Awaited<ReturnType<typeof addHolder>>
  type Arrived = {
    /** The source goes on; a file-based bank also reports the same money once more. */
    readonly again: () => Promise<void>
    /** The status of the checkout session. */
    readonly seen?: () => Promise<string>
  }
  type Source = {
    readonly currency: Currency
    readonly amount: bigint
    readonly steps: readonly string[]
    readonly events: readonly string[]
    readonly seen?: Readonly<Record<'held' | 'clear' | 'confirm', string>>
    readonly arrive: (holder: Holder) => Promise<Arrived>
  }

  let files = 0
  const put = (text: string) => folders.put(`${(files += 1)}.xml`, text)

  const sources: Readonly<Record<string, Source>> = {
    'a file of a bank': {
      currency: 'EUR',
      amount: 12_34n,
      steps: ['Created', 'Accepted'],
      events: ['accepted'],
      arrive: async ({ iban }) => {
        const bank = createIncomingBank(service, folders)
        const details = [
          { references: { endToEndId: 'E1' }, creditorAccount: { iban }, debtor: { name: 'Grace Hopper' } },
        ]
        const entry = entryOf(12_34n, { details })
        await put(reportXml([entry]))
        await bank.work()
        return {
          again: async () => {
            await put(reportXml([entry], { kind: 'camt.052' }))
            await bank.work()
          },
        }
      },
    },
    'a checkout session whose payer approves at the bank': {
      currency: 'EUR',
      amount: 49_90n,
      steps: ['Created', 'Initiated', 'Submitted', 'Accepted'],
      events: ['created', 'initiated', 'submitted', 'accepted'],
      seen: { held: 'Processing', clear: 'Completed', confirm: 'Failed' },
      arrive: async (holder) => {
        const opened = await sessions.open({}, holder)
        await sessions.pay(opened)
        await sessions.settle()
        return { again: sessions.settle, seen: () => sessions.statusOf(opened) }
      },
    },
    'a transfer that names a checkout session': {
      currency: 'EUR',
      amount: 49_90n,
      steps: ['Created', 'Accepted'],
      events: ['created', 'accepted'],
      seen: { held: 'Processing', clear: 'Completed', confirm: 'Failed' },
      arrive: async (holder) => {
        const opened = await sessions.open({}, holder)
        await service.checkout.simulate(holder.partnerId, opened.session.id, { step: 'credit' }, ip)
        await sessions.settle()
        return { again: sessions.settle, seen: () => sessions.statusOf(opened) }
      },
    },
    'a wallet': {
      currency: 'USDC',
      amount: 5_000_000n,
      steps: ['Created', 'Accepted'],
      events: ['accepted'],
      arrive: async ({ partnerId, customer }) => {
        const { chains, simulations, wallets } = service
        const { wallet } = await wallets.create(partnerId, { customerId: customer.id, currency: 'USDC' })
        const follow = async () => {
          await present(chains.simulated, 'a sandbox has a chain').makeBlocks(20)
          for (const connector of chains.connectors) while ((await connector.step()) > 0);
          const settlement = { ...service.settlement, connectors: chains.connectors }
          while ((await processBankNotifications(settlement)) > 0);
        }
        await follow()
        await simulations.walletDeposit(partnerId, wallet.id, { amount: rawNumber('5.00') } as never)
        await follow()
        return { again: follow }
      },
    },
  }

  async function stateOf(partnerId: string, currency: Currency) {
    const [deposit, ...others] = await service.db.rows<{ status: string; reference: string; id: string }>(
      sql`select status, reference, id from deposits.deposits where partner_id = ${partnerId}`,
    )
    assert.equal(others.length, 0)
    const { reference, id, status } = present(deposit, 'the money is a deposit')
    const { row, timeline } = await service.transactions.get(partnerId, reference)
    const events = await service.db.rows<{ type: string }>(
      sql`select type from events.events where partner_id = ${partnerId} and reference = ${reference} order by id`,
    )
    const accounts = await service.db.rows<{ name: string; posted: bigint }>(
      sql`select name, posted from ledger.accounts where partner_id = ${partnerId} and currency = ${currency}`,
    )
    const sumOf = (prefix: string) =>
      accounts.reduce((sum, { name, posted }) => (name.startsWith(prefix) ? sum + posted : sum), 0n)
    const cases = (await service.cases.list(undefined, 1000)).filter((found) => found.partnerId === partnerId)
    await checkLedger(service.db, partnerId)
    return {
      deposit: status,
      transaction: row.status,
      steps: timeline.map(({ step }) => step),
      events: events.map(({ type }) => type.replace('partner.customer.deposit.', '')),
      money: [sumOf('balance'), sumOf('suspense'), sumOf('settlement.')],
      // The case of a hold has the id of the deposit.
      cases: cases.map((found) => [found.kind, found.booked, found.id === id]),
    }
  }

  async function decide(partnerId: string, outcome: 'clear' | 'confirm', staff: string): Promise<void> {
    const hits = (await service.screening.openHits(undefined, 1000)).filter((hit) => hit.partnerId === partnerId)
    assert.ok(hits.length > 0)
    for (const hit of hits) {
      const disposition = dispositionFor(hit, outcome)
      const deciding = { partnerId, id: hit.id, outcome, disposition, staff, note: 'Compared with the passport.' }
      await service.db.transaction((tx) => service.screening.decide(tx, deciding))
    }
  }
  async function look(): Promise<void> {
    service.clock.advance(6 * secondMs)
    await service.deposits.screenDue(100)
  }

  test('money of a listed payer for no known account is a case of the name', async () => {
    const opened = async () =>
      (
        await service.db.rows<{ kind: string }>(sql`
          select kind from cases.cases where partner_id = ${operatorPartnerId} order by id`)
      ).map(({ kind }) => kind)
    const before = (await opened()).length
    for (const payer of [listedName, 'Grace Hopper']) {
      await sendCredit(service, 'DE89370400440532013000', payer)
      await sessions.settle()
    }
    assert.deepEqual((await opened()).slice(before), ['sanctions_hold', 'unknown_payment'])
  })

  test('money of a listed payer that does not fit its session is a case of the name, and no choice of the partner', async () => {
    for (const partialPayments of [false, true]) {
      const holder = await addHolder(service, 'Ada Lovelace')
      const opened = await sessions.open({ partialPayments }, holder)
      const step = { step: 'credit', amount: rawNumber('60.00'), debtorName: listedName } as const
      await service.checkout.simulate(holder.partnerId, opened.session.id, step, ip)
      await sessions.settle()
      const cases = await service.db.rows<{ kind: string; booked: bigint }>(sql`
        select kind, booked from cases.cases where partner_id = ${holder.partnerId} order by booked`)
      assert.deepEqual(
        cases.map(({ kind, booked }) => [kind, booked]),
        (partialPayments ? [10_10n, 49_90n] : [60_00n]).map((sum) => ['sanctions_hold', sum]),
      )
      const { latePayments } = await service.checkout.get(holder.partnerId, opened.session.id)
      assert.deepEqual(latePayments, [], 'the partner learns nothing of it')
    }
  })

  for (const [name, { currency, amount, steps, events, seen, arrive }] of Object.entries(sources))
    for (const outcome of ['clear', 'confirm'] as const)
      test(`${name}: the money waits, two people ${outcome} the name, and it is booked exactly once`, async () => {
        const holder = await addHolder(service, listedName)
        const { partnerId } = holder
        const arrived = await arrive(holder)
        const held = {
          deposit: 'Screening',
          transaction: 'Pending',
          steps: [...steps, 'Screening'],
          events,
          money: [0n, amount, -amount],
          cases: [['sanctions_hold', amount, true]],
        }
        const assertIs = async (state: object, as: 'held' | 'clear' | 'confirm') => {
          assert.deepEqual(await stateOf(partnerId, currency), state)
          assert.equal(await arrived.seen?.(), seen?.[as])
        }
        await assertIs(held, 'held')
        await arrived.again()
        await screenAll(service)
        await decide(partnerId, outcome, 'Sam Staff')
        await look()
        await assertIs(held, 'held')
        await decide(partnerId, outcome, 'Kim Staff')
        await look()
        const ended =
          outcome === 'clear'
            ? {
                deposit: 'Completed',
                transaction: 'Completed',
                steps: [...held.steps, 'Settled', 'Credited'],
                events: [...events, 'completed', 'transaction.status.changed'],
                money: [amount, 0n, -amount],
                cases: [],
              }
            : {
                ...held,
                deposit: 'Failed',
                transaction: 'Unsuccessful',
                steps: [...held.steps, 'Failed'],
                events: [...events, 'failed', 'transaction.status.changed'],
              }
        await assertIs(ended, outcome)
        await look()
        await arrived.again()
        await assertIs(ended, outcome)
      })
})

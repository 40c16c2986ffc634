/** The funds check and segregated balances on a real database. */
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import fc from 'fast-check'
import { rawNumber } from '@partner-payments/wire'
import { checkLedger } from '../../../test/model/ledger-audit.ts'
import { addPartner, balanceOf, createTestService, pay, type Service } from '../../../test/support/composition.ts'
import { drawing } from '../../../test/support/drawing.ts'
import { useModules } from '../../../test/support/fixture.ts'
import { Refusal } from '../kernel/api/index.ts'
import { type Currency, newId } from '../kernel/index.ts'
import { createBatcher, createDatabase, type Database, isConflict, sql, sqlState, violates } from '../postgres/index.ts'
import { type BalancesSnapshot, createFundsCheck, singleEntry, type EntryRequest, insufficientFunds } from './index.ts'
import type { Transfer } from './rules.ts'
import { createCheckpoints } from './checkpoints.ts'

suite('funds', async () => {
  const service = await createTestService()
  const { url, log } = service
  const databases = [1, 2].map(() => createDatabase({ url, connectionsMax: 6, log }))
  after(async () => {
    await Promise.all(databases.map((db) => db.close()))
    await service.close()
  })

  const transferOf = (partnerId: string, amount: bigint): Transfer => ({
    partnerId,
    debit: 'balance',
    credit: 'settlement.sandbox',
    currency: 'EUR',
    amount,
    partyId: partnerId,
    reference: newId(),
  })

  const requestOf = (transfer: Transfer): EntryRequest => ({ transfers: [{ ...transfer, kind: 'reserve' }] })

  /** A process that reserves money in batches, as payouts do. `beforeWrite` stands between the check and the write. */
  function createProcess(db: Database, beforeWrite: (isAdmitted: boolean) => Promise<void> = async () => undefined) {
    const counts = { batches: 0, locks: 0 }
    const { ledger } = service
    const funds = createFundsCheck({
      fittingUnderLock: (tx, requests, accounts) => {
        counts.locks += 1
        return ledger.fittingUnderLock(tx, requests, accounts)
      },
    })
    const reserve = createBatcher<Transfer, 'reserved', BalancesSnapshot>({
      db,
      read: async (tx, transfers) => ({ mark: funds.markRead(), accounts: await ledger.accountsOf(tx, transfers) }),
      work: async (tx, transfers, balances, position) => {
        counts.batches += 1
        const locksBefore = counts.locks
        const fits = await funds.check(tx, transfers.map(requestOf), balances, position)
        await beforeWrite(counts.locks === locksBefore)
        const fitting = transfers.filter((_transfer, index) => fits[index] === true)
        const reserves = fitting.map((transfer) => singleEntry('waits', transfer))
        await ledger.enterMany(tx, reserves, balances.accounts)
        return fits.map((fit) => (fit === true ? 'reserved' : insufficientFunds(fit, undefined)))
      },
      callsMax: 4,
      batchesMax: 4,
      secondBatchMin: 1,
      partnerOf: ({ partnerId }) => partnerId,
    })
    return { counts, reserve }
  }

  /** True when the money was reserved, false when it was refused. */
  const isReserved = (reserving: Promise<unknown>): Promise<boolean> =>
    reserving.then(
      () => true,
      (error: unknown) => {
        assert.ok(error instanceof Refusal && error.code === 'insufficient_funds', String(error))
        return false
      },
    )

  /** Reads the balance until `work` ends; it must never be negative. */
  async function watchBalance<T>(partnerId: string, work: Promise<T>): Promise<T> {
    let hasEnded = false
    const watching = (async () => {
      while (!hasEnded) {
        const { available } = await balanceOf(service, partnerId)
        assert.ok(available >= 0n, `${available} available`)
      }
    })()
    try {
      return await work
    } finally {
      hasEnded = true
      await watching
    }
  }

  const sum = (amounts: readonly bigint[]) => amounts.reduce((total, amount) => total + amount, 0n)

  test('racing batches of two processes never overdraw, and refuse only requests that the balance does not cover', async (t) => {
    const cases = fc.record({
      float: fc.bigInt({ min: 1n, max: 4000n }),
      amounts: fc.array(fc.bigInt({ min: 1n, max: 300n }), { minLength: 10, maxLength: 60 }),
    })
    await fc.assert(
      fc.asyncProperty(cases, async ({ float, amounts }) => {
        const { partnerId } = await addPartner(service, float)
        const processes = databases.map((db) => createProcess(db))
        const reserving = amounts.map(async (amount, index) => {
          const { reserve } = processes[index % processes.length] ?? assert.fail('a process')
          return { amount, reserved: await isReserved(reserve(transferOf(partnerId, amount))) }
        })
        const answers = await watchBalance(partnerId, Promise.all(reserving))
        const reserved = sum(answers.filter((answer) => answer.reserved).map(({ amount }) => amount))
        const available = float - reserved
        assert.deepEqual(await balanceOf(service, partnerId), { posted: float, reserved, available })
        // Money only leaves in this test: what fits at the end has always fitted alone.
        for (const answer of answers)
          if (!answer.reserved) assert.ok(answer.amount > available, `${answer.amount} fits`)
        await checkLedger(service.db, partnerId)
      }),
      drawing(t, 12),
    )
  })

  test('with equal amounts, exactly as many requests are accepted as the balance covers', async () => {
    const { partnerId } = await addPartner(service, 1050n)
    const processes = databases.map((db) => createProcess(db))
    const answers = await Promise.all(
      Array.from({ length: 60 }, (_, index) => {
        const { reserve } = processes[index % processes.length] ?? assert.fail('a process')
        return isReserved(reserve(transferOf(partnerId, 100n)))
      }),
    )
    assert.equal(answers.filter(Boolean).length, 10)
    await checkLedger(service.db, partnerId)
  })

  test('a request refused under the lock leaves the funds to later requests', async () => {
    const { partnerId } = await addPartner(service, 100n)
    const transfers = [60n, 60n, 40n, 1n].map((amount) => transferOf(partnerId, amount))
    const fits = await service.db.transaction(async (tx) =>
      service.ledger.fittingUnderLock(tx, transfers.map(requestOf), await service.ledger.accountsOf(tx, transfers)),
    )
    const short = { currency: 'EUR', available: 40n }
    assert.deepEqual(fits, [true, short, true, { ...short, available: 0n }])
  })

  test('while the balance is ample, no batch checks it under the lock and none runs twice', async () => {
    const { partnerId } = await addPartner(service, 12_000n)
    const [db = assert.fail('a database')] = databases
    const { reserve, counts } = createProcess(db)
    await Promise.all(Array.from({ length: 60 }, () => reserve(transferOf(partnerId, 100n))))
    assert.deepEqual(counts, { batches: 15, locks: 0 })
    await checkLedger(service.db, partnerId)
  })

  test('if two processes admit the same money without a lock, one reserves it and the other refuses', async () => {
    const { partnerId } = await addPartner(service, 100n)
    const bothAdmitted = Promise.withResolvers<void>()
    let admitted = 0
    const beforeWrite = (isAdmitted: boolean) => {
      if (isAdmitted && (admitted += 1) === 2) bothAdmitted.resolve()
      return isAdmitted ? bothAdmitted.promise : Promise.resolve()
    }
    const processes = databases.map((db) => createProcess(db, beforeWrite))
    const answers = await Promise.all(processes.map(({ reserve }) => isReserved(reserve(transferOf(partnerId, 80n)))))
    assert.deepEqual(answers.toSorted(), [false, true])
    assert.deepEqual(processes.map(({ counts }) => counts.batches).toSorted(), [1, 2], 'the loser runs again')
    assert.deepEqual(await balanceOf(service, partnerId), { posted: 100n, reserved: 80n, available: 20n })
  })
})

suite('segregation', async () => {
  const service = await useModules({ connectionsMax: 12 })
  const other = await service.anotherProcess()

  type Partner = Awaited<ReturnType<typeof addPartner>>
  const movement = (partnerId: string, partyId: string, amount: bigint): Transfer => ({
    partnerId,
    partyId,
    debit: 'settlement.sandbox',
    credit: 'balance',
    currency: 'EUR',
    amount,
    reference: newId(),
  })
  const credit = (partnerId: string, partyId: string, amount: bigint, by: Service = service) =>
    by.db.transaction((tx) => by.ledger.enter(tx, singleEntry('bank', movement(partnerId, partyId, amount))))
  /** An entry that takes money without a check of the funds, as a payout of a time without parts did. */
  const takeUnchecked = (partnerId: string, partyId: string, amount: bigint) =>
    service.db.transaction(async (tx) => {
      const taken = { ...movement(partnerId, partyId, amount), debit: 'balance', credit: 'settlement.sandbox' } as const
      await service.ledger.enterMany(tx, [singleEntry('bank', taken)], await service.ledger.accountsOf(tx, [taken]))
    })
  const segregate = (partnerId: string, currency: Currency = 'EUR') =>
    service.db.transaction((tx) => service.ledger.segregate(tx, partnerId, currency))
  const pool = (partnerId: string) => service.db.transaction((tx) => service.ledger.pool(tx, partnerId, 'EUR'))
  const modeOf = async (partnerId: string) =>
    (await service.ledger.modes(service.db, partnerId)).find(({ currency }) => currency === 'EUR')
  const parts = async (partnerId: string) => {
    const rows = await service.db.rows<{ partyId: string; posted: bigint; reserved: bigint }>(
      sql`select party_id, posted, reserved from ledger.party_accounts where partner_id = ${partnerId} order by party_id`,
    )
    return new Map(rows.map(({ partyId, posted, reserved }) => [partyId, `${posted} ${reserved}`]))
  }
  const refusalOf = async (work: Promise<unknown>): Promise<string> => {
    const refused = await work.then(
      () => undefined,
      (error: unknown) => error,
    )
    assert.ok(refused instanceof Refusal, String(refused))
    return `${refused.code}: ${refused.detail}`
  }
  const payOwn = (partner: Partner, amount: string) =>
    pay(service, partner, amount, { beneficiaryId: partner.ownBeneficiary.id })

  test("a payout for a customer uses only the customer's money, and a payout of the partner only the partner's", async () => {
    const partner = await addPartner(service, 100_00n)
    const { partnerId, customer } = partner
    assert.deepEqual(await segregate(partnerId), [])
    const refused = await refusalOf(pay(service, partner, '0.01'))
    assert.match(
      refused,
      /^insufficient_funds: The customer's part of the available EUR balance is smaller than the amount\. 0\.00 EUR/,
    )
    await credit(partnerId, customer.id, 30_00n)
    await pay(service, partner, '29.99')
    assert.match(await refusalOf(pay(service, partner, '0.02')), /0\.01 EUR is available/)
    assert.match(
      await refusalOf(payOwn(partner, '100.01')),
      /^insufficient_funds: Your own part of .* 100\.00 EUR is available/,
    )
    await payOwn(partner, '100.00')
    assert.deepEqual(
      await parts(partnerId),
      new Map(
        [
          [partnerId, '10000 10000'],
          [customer.id, '3000 2999'],
        ].toSorted() as [string, string][],
      ),
    )
    assert.deepEqual(await balanceOf(service, partnerId), { posted: 130_00n, reserved: 129_99n, available: 1n })
    await checkLedger(service.db, partnerId)
  })

  test('in a pooled balance the same payouts pass, without accounts of parties', async () => {
    const partner = await addPartner(service, 100_00n)
    await pay(service, partner, '60.00')
    await payOwn(partner, '40.00')
    assert.equal((await parts(partner.partnerId)).size, 0)
    assert.deepEqual(await modeOf(partner.partnerId), { currency: 'EUR', segregated: false, own: undefined })
  })

  test("reserving, posting, releasing and returning change the party's part of the balance", async () => {
    const partner = await addPartner(service, 50_00n)
    const { partnerId, customer } = partner
    await segregate(partnerId)
    await credit(partnerId, customer.id, 10_00n)
    const { reserveId: paid } = (await pay(service, partner, '4.00')).payout
    const { reserveId: failed } = (await pay(service, partner, '5.00')).payout
    assert.equal((await parts(partnerId)).get(customer.id), '1000 900')
    const end = (entryId: string, kind: 'post' | 'release', entries: Parameters<typeof singleEntry>[1][] = []) =>
      service.db.transaction((tx) =>
        service.ledger.settleMany(
          tx,
          [{ partnerId, entryId, kind }],
          entries.map((moved) => singleEntry('bank', moved)),
        ),
      )
    await end(paid, 'post')
    assert.equal((await parts(partnerId)).get(customer.id), '600 500')
    await end(failed, 'release', [movement(partnerId, customer.id, 1_00n)])
    assert.equal((await parts(partnerId)).get(customer.id), '700 0')
    assert.equal((await parts(partnerId)).get(partnerId), '5000 0')
    await checkLedger(service.db, partnerId)
  })

  test('the database constraint keeps a part above zero even without the check', async () => {
    const partner = await addPartner(service, 100_00n)
    await segregate(partner.partnerId)
    const overdrawn = (error: unknown) => violates(error, sqlState.checkViolation, 'party_accounts_never_negative')
    await assert.rejects(takeUnchecked(partner.partnerId, partner.customer.id, 1n), overdrawn)
    await checkLedger(service.db, partner.partnerId)
  })

  test('concurrent payouts in two processes never exceed the money of their customer', async () => {
    const partner = await addPartner(service, 1_000_00n)
    const { partnerId } = partner
    await segregate(partnerId)
    const people = await Promise.all(
      [3, 5, 0].map(async (euros) => {
        const { id: customerId } = await service.customers.create(partnerId, { email: `${newId()}@example.com` })
        const account = { iban: 'DE89370400440532013000', currency: 'EUR' as const, name: 'Grace Hopper' }
        const { id: beneficiaryId } = await service.beneficiaries.create(partnerId, { ...account, customerId })
        if (euros > 0) await credit(partnerId, customerId, BigInt(euros) * 100n)
        return { customerId, beneficiaryId, euros }
      }),
    )
    const tries = people.flatMap(({ beneficiaryId, customerId }) =>
      Array.from({ length: 9 }, async (_, index) => {
        const paid = pay(index % 2 === 0 ? service : other, partner, '1.00', { beneficiaryId })
        return paid.then(
          () => customerId,
          (error: unknown) => {
            assert.ok(error instanceof Refusal && error.code === 'insufficient_funds', String(error))
            return undefined
          },
        )
      }),
    )
    const accepted = Map.groupBy(await Promise.all(tries), (customerId) => customerId)
    for (const { customerId, euros } of people) assert.equal(accepted.get(customerId)?.length ?? 0, euros)
    await checkLedger(service.db, partnerId)
  })

  test('a balance can be segregated and pooled during payments, and each payment counts exactly once', async () => {
    const partner = await addPartner(service, 1_000_00n)
    const { partnerId, customer } = partner
    await credit(partnerId, customer.id, 500_00n)
    let ended = false
    const switching = async () => {
      for (let round = 0; round < 6; round += 1) {
        assert.deepEqual(await segregate(partnerId), [])
        await service.db.transaction((tx) => service.ledger.shortParties(tx, partnerId, 'EUR'))
        await pool(partnerId)
        await service.db.transaction((tx) => service.ledger.clearParties(tx, partnerId, 'EUR'))
      }
      await segregate(partnerId)
      ended = true
    }
    /** The mode changes here far more often than anywhere, so that a transaction may lose all its tries. Its caller repeats it. */
    const repeated = async <T>(work: () => Promise<T>): Promise<T> => {
      for (;;)
        try {
          return await work()
        } catch (error) {
          if (!isConflict(error)) throw error
        }
    }
    const gift = { amount: rawNumber('0.01'), currency: 'EUR', toCustomerId: customer.id } as const
    const paying = async (by: Service) => {
      let count = 0
      while (!ended) {
        const kind = count % 4
        if (kind === 0) await repeated(() => credit(partnerId, customer.id, 1n, by))
        else if (kind === 3) await repeated(() => by.accounts.transfer(partnerId, gift, undefined))
        else {
          const { reserveId: entryId } = (await repeated(() => pay(by, partner, '0.01'))).payout
          const end = { partnerId, entryId, kind: kind === 1 ? 'post' : 'release' } as const
          await repeated(() => by.db.transaction((tx) => by.ledger.settleMany(tx, [end], [])))
        }
        count += 1
      }
      return count
    }
    const counts = await Promise.all([switching(), paying(service), paying(other), paying(service)])
    assert.ok(counts.slice(1).every((count) => Number(count) > 0))
    assert.equal((await modeOf(partnerId))?.segregated, true)
    await checkLedger(service.db, partnerId)
  })

  test('concurrent changes between segregated and pooled are applied in sequence', async () => {
    const partner = await addPartner(service, 10_00n)
    const { partnerId, customer } = partner
    await credit(partnerId, customer.id, 5_00n)
    const changes = [service, other].map(async ({ db, ledger }) => {
      for (let round = 0; round < 15; round += 1) {
        assert.deepEqual(await db.transaction((tx) => ledger.segregate(tx, partnerId, 'EUR')), [])
        await db.transaction((tx) => ledger.pool(tx, partnerId, 'EUR'))
        await db.transaction((tx) => ledger.clearParties(tx, partnerId, 'EUR'))
      }
    })
    await Promise.all(changes)
    assert.deepEqual(await Promise.all([segregate(partnerId), segregate(partnerId)]), [[], []])
    assert.deepEqual(Object.fromEntries(await parts(partnerId)), { [partnerId]: '1000 0', [customer.id]: '500 0' })
    await checkLedger(service.db, partnerId)
  })

  test('a transfer between parties is not written if the balance was segregated after its check', async () => {
    const { partnerId, customer } = await addPartner(service, 10_00n)
    const out = {
      ...movement(partnerId, partnerId, 4_00n),
      debit: 'balance',
      credit: 'transfers',
      kind: 'direct',
    } as const
    const back = { ...out, partyId: customer.id, debit: 'transfers', credit: 'balance' } as const
    const judged = await service.ledger.accountsOf(service.db, [out])
    assert.deepEqual(await segregate(partnerId), [])
    const write = service.db.transaction((tx) =>
      service.ledger.enterMany(tx, [{ id: newId(), permit: 'bank', transfers: [out, back] }], judged),
    )
    await assert.rejects(write, (error) => {
      const cause = error instanceof Error && error.cause !== undefined ? error.cause : error
      return violates(cause, sqlState.checkViolation, 'accounts_judged_by_state')
    })
    await checkLedger(service.db, partnerId)
  })

  test('a balance with parties below zero cannot be segregated, and they are listed with the missing amount', async () => {
    const partner = await addPartner(service, 100_00n)
    const { partnerId, customer } = partner
    await takeUnchecked(partnerId, customer.id, 7_00n)
    const plan = await service.ledger.shortParties(service.db, partnerId, 'EUR')
    const short = { partyId: customer.id, posted: -7_00n, reserved: 0n, missing: 7_00n }
    assert.deepEqual(plan, { short: [short], own: 100_00n })
    await assert.rejects(
      service.db.transaction(async (tx) => {
        assert.deepEqual(await service.ledger.segregate(tx, partnerId, 'EUR'), [short])
        throw new Error('rolled back')
      }),
      /rolled back/,
    )
    assert.equal((await modeOf(partnerId))?.segregated, false)
    await pay(service, partner, '1.00')
    await credit(partnerId, customer.id, 8_00n)
    assert.deepEqual(await segregate(partnerId), [])
    assert.deepEqual(await segregate(partnerId), [], 'a segregated balance stays as it is')
    assert.equal((await parts(partnerId)).get(customer.id), '100 100')
    await checkLedger(service.db, partnerId)
  })

  test('transfers before and after the checkpoints count exactly once', async () => {
    const partner = await addPartner(service, 1_00n)
    const { partnerId, customer } = partner
    const amounts = Array.from({ length: 1_005 }, (_, index) =>
      movement(partnerId, index % 2 ? customer.id : partnerId, 1n),
    )
    await service.db.transaction(async (tx) =>
      service.ledger.enterMany(
        tx,
        amounts.map((moved) => singleEntry('bank', moved)),
        await service.ledger.accountsOf(tx, amounts),
      ),
    )
    await takeUnchecked(partnerId, customer.id, 600n)
    const { db, log } = service
    const limits = { transfersPerStretch: 100, clockDifferenceMsMax: 0 }
    await createCheckpoints({ db, log, partnerIds: async () => [partnerId], limits }).checkpointStep()
    await createCheckpoints({ db, log, partnerIds: async () => [partnerId], limits }).checkpointStep()
    await credit(partnerId, customer.id, 200n)
    assert.deepEqual(await segregate(partnerId), [])
    assert.deepEqual(
      await parts(partnerId),
      new Map(
        [
          [partnerId, '603 0'],
          [customer.id, '102 0'],
        ].toSorted() as [string, string][],
      ),
    )
    await checkLedger(service.db, partnerId)
  })

  test('new balances are segregated if the installation is configured so', async () => {
    const strict = await createTestService({ url: service.url, settings: { CUSTOMER_MONEY: 'segregated' } })
    try {
      const partner = await addPartner(strict, 5_00n)
      assert.deepEqual(await modeOf(partner.partnerId), {
        currency: 'EUR',
        segregated: true,
        own: { posted: 5_00n, reserved: 0n },
      })
      assert.match(await refusalOf(pay(strict, partner, '1.00')), /The customer's part/)
      await checkLedger(service.db, partner.partnerId)
    } finally {
      await strict.close()
    }
  })
})

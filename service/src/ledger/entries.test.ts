/** Entries on a real database, and kinds of accounts. */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { checkLedger } from '../../../test/model/ledger-audit.ts'
import { addPartner, balanceOf } from '../../../test/support/composition.ts'
import { useModules } from '../../../test/support/fixture.ts'
import { Refusal } from '../kernel/api/index.ts'
import { AssertionFailure, type Currency, idAfter, newId } from '../kernel/index.ts'
import { sql, sqlState, violates } from '../postgres/index.ts'
import type { EntryEnd } from './entries.ts'
import { type Entry, singleEntry, type EntryTransfer, entryTransfersMax } from './rules.ts'
import { accountKinds, type AccountName, isAccountName, accountKind } from './account-kinds.ts'

suite('entries', async () => {
  const service = await useModules({ connectionsMax: 12 })

  type Part = Pick<EntryTransfer, 'kind' | 'debit' | 'credit' | 'currency' | 'amount'>
  const entryOfParts = (partnerId: string, parts: readonly Part[]): Entry => ({
    id: newId(),
    permit: 'bank',
    transfers: parts.map((part) => ({ ...part, partnerId, partyId: partnerId, reference: 'r-1' })),
  })
  const settlement = 'settlement.sandbox'
  const withFee = (partnerId: string, amount: bigint, fee: bigint): Entry =>
    entryOfParts(partnerId, [
      { kind: 'reserve', debit: 'balance', credit: settlement, currency: 'EUR', amount },
      { kind: 'reserve', debit: 'balance', credit: 'fees', currency: 'EUR', amount: fee },
    ])
  const conversion = (partnerId: string, from: Currency, to: Currency, amount: bigint): Entry =>
    entryOfParts(partnerId, [
      { kind: 'direct', debit: 'balance', credit: 'fx', currency: from, amount },
      { kind: 'direct', debit: 'fx', credit: 'balance', currency: to, amount: amount * 2n },
    ])

  const enter = (entry: Entry) => service.db.transaction((tx) => service.ledger.enter(tx, entry))
  const end = (...ends: readonly EntryEnd[]) => service.db.transaction((tx) => service.ledger.settleMany(tx, ends, []))
  const isShort = (currency: Currency) => (error: unknown) =>
    error instanceof Refusal && error.code === 'insufficient_funds' && error.message.includes(currency)
  const isSecondEnd = (error: unknown) => violates(error, sqlState.uniqueViolation, 'transfers_reserve_ends_once')

  async function stored(partnerId: string): Promise<readonly string[]> {
    const accounts = await service.db.rows<{ name: string; currency: string; posted: bigint; reserved: bigint }>(
      sql`select name, currency, posted, reserved from ledger.accounts where partner_id = ${partnerId} order by 1, 2`,
    )
    return accounts.map(({ name, currency, posted, reserved }) => `${name} ${currency} ${posted} ${reserved}`)
  }
  const transfersStored = async (partnerId: string) =>
    (await service.db.rows(sql`select id from ledger.transfers where partner_id = ${partnerId}`)).length

  test('a payout and its fee are reserved, posted and released together', async () => {
    const { partnerId } = await addPartner(service, 1000n)
    const [paid, failed] = [withFee(partnerId, 300n, 5n), withFee(partnerId, 400n, 7n)]
    await enter(paid)
    await enter(failed)
    assert.deepEqual(await balanceOf(service, partnerId), { posted: 1000n, reserved: 712n, available: 288n })
    await end({ partnerId, entryId: paid.id, kind: 'post' }, { partnerId, entryId: failed.id, kind: 'release' })
    assert.deepEqual(await stored(partnerId), ['balance EUR 695 0', 'fees EUR 5 0', `${settlement} EUR -700 0`])
    for (const kind of ['post', 'release'] as const)
      for (const { id: entryId } of [paid, failed]) await assert.rejects(end({ partnerId, entryId, kind }), isSecondEnd)
    await assert.rejects(
      end({ partnerId, entryId: idAfter(paid.id, 1), kind: 'post' }),
      AssertionFailure,
      'a transfer of an entry does not end alone',
    )
    await checkLedger(service.db, partnerId)
  })

  test('a conversion moves two currencies at once, and posting an entry does not affect its direct transfers', async () => {
    const { partnerId } = await addPartner(service, 1000n)
    await enter(conversion(partnerId, 'EUR', 'USD', 300n))
    assert.deepEqual(await stored(partnerId), [
      'balance EUR 700 0',
      'balance USD 600 0',
      'fx EUR 300 0',
      'fx USD -600 0',
      `${settlement} EUR -1000 0`,
    ])
    const mixed = entryOfParts(partnerId, [
      { kind: 'direct', debit: 'balance', credit: 'fees', currency: 'EUR', amount: 1n },
      { kind: 'reserve', debit: 'balance', credit: settlement, currency: 'USD', amount: 100n },
    ])
    await enter(mixed)
    await end({ partnerId, entryId: mixed.id, kind: 'post' })
    assert.deepEqual((await stored(partnerId)).slice(0, 3), ['balance EUR 699 0', 'balance USD 500 0', 'fees EUR 1 0'])
    const direct = singleEntry('bank', { ...mixed.transfers[0], kind: 'direct' } as EntryTransfer)
    await enter(direct)
    await assert.rejects(end({ partnerId, entryId: direct.id, kind: 'post' }), AssertionFailure)
    await checkLedger(service.db, partnerId)
  })

  test('an entry that would overdraw an account writes nothing: the check refuses it, and so does the constraint', async () => {
    const { partnerId } = await addPartner(service, 1000n)
    const before = await stored(partnerId)
    await assert.rejects(enter(withFee(partnerId, 996n, 5n)), isShort('EUR'))
    const poor = entryOfParts(partnerId, [
      { kind: 'direct', debit: 'balance', credit: 'fx', currency: 'EUR', amount: 1n },
      { kind: 'direct', debit: 'balance', credit: 'fees', currency: 'GBP', amount: 1n },
    ])
    await assert.rejects(enter(poor), isShort('GBP'))
    const unchecked = service.db.transaction((tx) =>
      service.ledger.enterMany(tx, [withFee(partnerId, 996n, 5n)], new Map()),
    )
    await assert.rejects(unchecked, (error) => violates(error, sqlState.checkViolation, 'accounts_never_negative'))
    assert.deepEqual(await stored(partnerId), before)
    assert.equal(await transfersStored(partnerId), 1)
    await enter(withFee(partnerId, 995n, 5n))
    await checkLedger(service.db, partnerId)
  })

  test('an entry is checked by its net change: its credits cover its debits', async () => {
    const { partnerId } = await addPartner(service, 10n)
    const refund = entryOfParts(partnerId, [
      { kind: 'direct', debit: 'balance', credit: 'fees', currency: 'EUR', amount: 15n },
      { kind: 'direct', debit: settlement, credit: 'balance', currency: 'EUR', amount: 100n },
    ])
    await enter(refund)
    assert.equal((await balanceOf(service, partnerId)).posted, 95n)
    await checkLedger(service.db, partnerId)
  })

  test('an entry refused under the lock leaves the funds to later entries, in each of its currencies', async () => {
    const { partnerId } = await addPartner(service, 100n)
    const { db, ledger } = service
    const entries = [
      conversion(partnerId, 'EUR', 'USD', 60n),
      withFee(partnerId, 41n, 1n),
      conversion(partnerId, 'USD', 'EUR', 120n),
      withFee(partnerId, 280n, 0n),
    ]
    const fits = await db.transaction(async (tx) =>
      ledger.fittingUnderLock(
        tx,
        entries,
        await ledger.accountsOf(
          tx,
          entries.flatMap(({ transfers }) => transfers),
        ),
      ),
    )
    assert.deepEqual(fits, [true, { currency: 'EUR', available: 40n }, true, true])
  })

  test('an entry without a transfer, with too many, or of two partners is refused as a bug', async () => {
    const { partnerId } = await addPartner(service, 1000n)
    const part = { kind: 'direct', debit: 'balance', credit: 'fees', currency: 'EUR', amount: 1n } as const
    const other = entryOfParts(newId(), [part]).transfers
    const wrong = [
      entryOfParts(partnerId, []),
      entryOfParts(
        partnerId,
        Array.from({ length: entryTransfersMax + 1 }, () => part),
      ),
      { ...entryOfParts(partnerId, []), transfers: [...entryOfParts(partnerId, [part]).transfers, ...other] },
    ]
    for (const entry of wrong)
      await assert.rejects(
        service.db.transaction((tx) => service.ledger.enterMany(tx, [entry], new Map())),
        AssertionFailure,
      )
    await enter(
      entryOfParts(
        partnerId,
        Array.from({ length: entryTransfersMax }, () => part),
      ),
    )
    assert.equal((await balanceOf(service, partnerId)).posted, 900n)
    await checkLedger(service.db, partnerId)
  })

  test('concurrent opposite conversions, payouts, posts and releases never deadlock, even when they create the accounts', async () => {
    let runs = 0
    let calls = 0
    /** A transaction that PostgreSQL rolls back as a deadlock victim runs again, so that it runs more often than it is called. */
    const once = async (work: Parameters<typeof service.db.transaction>[0]) => {
      calls += 1
      try {
        await service.db.transaction(async (tx) => {
          runs += 1
          await work(tx, undefined)
        })
      } catch (error) {
        if (!(error instanceof Refusal)) throw error
      }
    }
    for (let round = 0; round < 10; round += 1) {
      const { partnerId } = await addPartner(service, 5000n)
      const racing = Array.from({ length: 20 }, async (_, index) => {
        const [from, to] = index % 2 === 0 ? (['EUR', 'USD'] as const) : (['USD', 'EUR'] as const)
        await once((tx) => service.ledger.enter(tx, conversion(partnerId, from, to, 10n)))
        const payout = withFee(partnerId, 10n, 1n)
        await once((tx) => service.ledger.enter(tx, payout))
        await once((tx) =>
          service.ledger.settleMany(
            tx,
            [{ partnerId, entryId: payout.id, kind: 'post' }],
            [conversion(partnerId, 'EUR', 'USD', 1n)],
          ),
        )
      })
      await Promise.all(racing)
      await checkLedger(service.db, partnerId)
    }
    assert.equal(calls, 600)
    assert.equal(runs, calls, 'no transaction ran twice')
  })
})

suite('kinds of accounts', async () => {
  const service = await useModules()

  const nameOf = (kind: string) => (kind === 'settlement' ? 'settlement.sandbox' : kind) as AccountName

  test('the table of kinds and the constraint of the database agree on which accounts may fall below zero', async () => {
    const { db, clock } = service
    const { partnerId } = await addPartner(service)
    const mayStore = (name: string, posted: bigint, reserved: bigint) =>
      db
        .run(
          sql`insert into ledger.accounts (partner_id, id, name, currency, posted, reserved, created_at)
          values (${partnerId}, ${newId()}, ${name}, ${posted < 0n ? 'EUR' : 'USD'}, ${posted}, ${reserved}, ${clock.now()})`,
        )
        .then(
          () => true,
          (error: unknown) => {
            assert.ok(violates(error, sqlState.checkViolation, 'accounts_never_negative'), String(error))
            return false
          },
        )
    for (const kind of Object.keys(accountKinds)) {
      const { mayFallBelowZero } = accountKind(nameOf(kind))
      assert.equal(await mayStore(nameOf(kind), -1n, 0n), mayFallBelowZero, `${kind} below zero`)
      assert.equal(await mayStore(nameOf(kind), 5n, 6n), mayFallBelowZero, `${kind} below its reserved part`)
    }
  })

  test('an account name is a kind, or names the settlement account of a connector', () => {
    for (const name of ['balance', 'suspense', 'transfers', 'parts', 'fees', 'fx', 'settlement.sandbox'])
      assert.ok(isAccountName(name), name)
    for (const name of ['', 'settlement', 'settlement.', 'Balance', 'toString']) assert.ok(!isAccountName(name), name)
    assert.equal(accountKind('settlement.sandbox'), accountKinds.settlement)
  })
})

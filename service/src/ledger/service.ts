/** The verbs of the ledger. Each runs inside the caller's transaction: money moves where the state changes. */
import { assert, type Clock, type Currency, type Minor, newId, present } from '../kernel/index.ts'
import type { Tx } from '../postgres/index.ts'
import { effects, fits, insufficientFunds, type Transfer, type TransferKind } from './rules.ts'
import { createReserves, type Reserves } from './reserves.ts'
import * as store from './store.ts'

export type Balance = {
  readonly id: string
  readonly currency: Currency
  readonly posted: Minor
  readonly reserved: Minor
  readonly available: Minor
}

export type Ledger = Reserves & {
  /** Moves posted money at once. Refuses: insufficient_funds. Answers the transfer's id. */
  readonly transfer: (tx: Tx, transfer: Transfer) => Promise<string>
  /** Sets money of the debit account aside. Refuses: insufficient_funds. Answers the id of the reserve. */
  readonly reserve: (tx: Tx, transfer: Transfer) => Promise<string>
  /** Moves what was set aside. A reserve that was ended before is an AssertionFailure or a unique violation. */
  readonly post: (tx: Tx, partnerId: string, reserveId: string) => Promise<string>
  /** Gives back what was set aside. The same condition. */
  readonly release: (tx: Tx, partnerId: string, reserveId: string) => Promise<string>
  readonly balances: (tx: Tx, partnerId: string) => Promise<readonly Balance[]>
}

export function createLedger({ clock }: { readonly clock: Clock }): Ledger {
  const reserves = createReserves(clock)

  const accountIds = async (tx: Tx, { partnerId, currency, debit, credit }: Transfer) => {
    const find = async () => {
      const rows = await store.accountsByName(tx, partnerId, currency, [debit, credit])
      return new Map(rows.map((row) => [row.name, row.id]))
    }
    let ids = await find()
    if (!ids.has(debit) || !ids.has(credit)) {
      for (const name of [debit, credit].sort())
        await store.ensureAccount(tx, partnerId, { id: newId(), name, currency }, clock.now())
      ids = await find()
    }
    return {
      debitAccountId: present(ids.get(debit), 'just made'),
      creditAccountId: present(ids.get(credit), 'just made'),
    }
  }

  const apply = async (
    tx: Tx,
    partnerId: string,
    kind: TransferKind,
    movement: Omit<store.TransferRow, 'id' | 'kind'>,
    reserveId: string | null,
  ) => {
    const { debitAccountId, creditAccountId, amount } = movement
    assert(amount > 0n, 'a transfer moves more than nothing')
    assert(debitAccountId !== creditAccountId, 'a transfer has two accounts')
    const rows = await store.lockAccounts(tx, partnerId, [debitAccountId, creditAccountId])
    const { debit, credit } = effects(kind, amount)
    for (const [id, change] of [
      [debitAccountId, debit],
      [creditAccountId, credit],
    ] as const) {
      const row = present(
        rows.find((candidate) => candidate.id === id),
        'an account of a transfer exists',
      )
      assert(row.currency === movement.currency, 'a transfer has one currency')
      if (!fits(row.name, row.posted, row.reserved, change)) {
        assert(kind === 'direct', 'what a reserve set aside is there until it is ended')
        throw insufficientFunds(row.currency)
      }
      if (change.posted !== 0n || change.reserved !== 0n) await store.changeAccount(tx, partnerId, id, change)
    }
    const id = newId()
    await store.insertTransfer(tx, partnerId, { ...movement, id, kind, reserveId }, clock.now())
    return id
  }

  const direct = async (tx: Tx, transfer: Transfer) => {
    const { currency, amount, partyId, reference } = transfer
    const accounts = await accountIds(tx, transfer)
    return apply(tx, transfer.partnerId, 'direct', { ...accounts, currency, amount, partyId, reference }, null)
  }

  const end = async (tx: Tx, kind: 'post' | 'release', partnerId: string, reserveId: string) => {
    const reserve = present(await store.transferById(tx, partnerId, reserveId), 'a reserve that is ended exists')
    assert(reserve.kind === 'reserve', 'only a reserve is posted or released')
    const { id: _id, kind: _kind, ...movement } = reserve
    return apply(tx, partnerId, kind, movement, reserveId)
  }

  return {
    transfer: direct,
    reserve: async (tx, transfer) => {
      const [fitting] = await reserves.fitting(tx, [transfer])
      if (!fitting) throw insufficientFunds(transfer.currency)
      const id = newId()
      await reserves.reserveMany(tx, [{ ...transfer, id }], await reserves.accountsOf(tx, [transfer]))
      return id
    },
    ...reserves,
    post: (tx, partnerId, reserveId) => end(tx, 'post', partnerId, reserveId),
    release: (tx, partnerId, reserveId) => end(tx, 'release', partnerId, reserveId),
    balances: async (tx, partnerId) =>
      (await store.balances(tx, partnerId)).map(({ id, currency, posted, reserved }) => ({
        id,
        currency,
        posted,
        reserved,
        available: posted - reserved,
      })),
  }
}

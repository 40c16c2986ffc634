/** One transfer at a time: moves posted money, or ends a reserve. */
import { assert, type Clock, newId, present } from '../kernel/index.ts'
import type { Tx } from '../postgres/index.ts'
import { effects, fits, insufficientFunds, type Transfer } from './rules.ts'
import * as store from './store.ts'

type AccountIds = { readonly debitAccountId: string; readonly creditAccountId: string }

export function createTransfers(clock: Clock) {
  const apply = async (
    tx: Tx,
    partnerId: string,
    transfer: Omit<store.TransferRow, 'id'>,
    reserveId: string | null,
  ) => {
    await changeBalances(tx, partnerId, transfer)
    const id = newId()
    await store.insertTransfer(tx, partnerId, { ...transfer, id, reserveId }, clock.now())
    return id
  }
  return {
    /** Refuses: insufficient_funds. Answers the id of the transfer. */
    direct: async (tx: Tx, transfer: Transfer): Promise<string> => {
      const { partnerId, currency, amount, partyId, reference } = transfer
      const accounts = await accountIdsOf(tx, transfer, clock)
      return apply(tx, partnerId, { kind: 'direct', ...accounts, currency, amount, partyId, reference }, null)
    },
    /** Answers the id of the transfer that ends the reserve. */
    endReserve: async (tx: Tx, kind: 'post' | 'release', partnerId: string, reserveId: string): Promise<string> => {
      const reserve = present(await store.transferById(tx, partnerId, reserveId), 'a reserve that is ended exists')
      assert(reserve.kind === 'reserve', 'only a reserve is posted or released')
      return apply(tx, partnerId, { ...reserve, kind }, reserveId)
    },
  }
}

/** Finds the two accounts of a transfer, and creates those that do not exist yet. */
async function accountIdsOf(tx: Tx, transfer: Transfer, clock: Clock): Promise<AccountIds> {
  const { partnerId, currency, debit, credit } = transfer
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
    debitAccountId: present(ids.get(debit), 'the debit account exists once it is created'),
    creditAccountId: present(ids.get(credit), 'the credit account exists once it is created'),
  }
}

/** Refuses: insufficient_funds. */
async function changeBalances(tx: Tx, partnerId: string, transfer: Omit<store.TransferRow, 'id'>): Promise<void> {
  const { kind, debitAccountId, creditAccountId, amount, currency } = transfer
  assert(amount > 0n, 'the amount of a transfer is greater than zero')
  assert(debitAccountId !== creditAccountId, 'a transfer has two accounts')
  const rows = await store.lockAccounts(tx, partnerId, [debitAccountId, creditAccountId])
  const { debit, credit } = effects(kind, amount)
  const sides = [
    { accountId: debitAccountId, change: debit },
    { accountId: creditAccountId, change: credit },
  ]
  for (const { accountId, change } of sides) {
    const account = present(
      rows.find(({ id }) => id === accountId),
      'the accounts of a transfer exist',
    )
    assert(account.currency === currency, 'a transfer has one currency')
    if (!fits(account.name, account.posted, account.reserved, change)) {
      assert(kind === 'direct', 'the money of a reserve stays until the reserve ends')
      throw insufficientFunds(account.currency)
    }
    if (change.posted !== 0n || change.reserved !== 0n) await store.changeAccount(tx, partnerId, accountId, change)
  }
}

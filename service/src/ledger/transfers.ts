/** One transfer at a time, which moves posted money. */
import { assert, type Clock, newId, present } from '../kernel/index.ts'
import type { Tx } from '../postgres/index.ts'
import { effects, fits, insufficientFunds, type Transfer } from './rules.ts'
import * as store from './store.ts'

type AccountIds = { readonly debitAccountId: string; readonly creditAccountId: string }

/** Refuses: insufficient_funds. Answers the id of the transfer. */
export const createDirectTransfer =
  (clock: Clock) =>
  async (tx: Tx, transfer: Transfer): Promise<string> => {
    const { partnerId, currency, amount, partyId, reference } = transfer
    const accounts = await accountIdsOf(tx, transfer, clock)
    const row = { partnerId, id: newId(), kind: 'direct', ...accounts, currency, amount, partyId, reference } as const
    await changeBalances(tx, row)
    store.insertTransfers(tx, [{ ...row, reserveId: null }], clock.now())
    return row.id
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
async function changeBalances(tx: Tx, transfer: store.TransferRow & { readonly partnerId: string }): Promise<void> {
  const { partnerId, kind, debitAccountId, creditAccountId, amount, currency } = transfer
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
    if (!fits(account.name, account.posted, account.reserved, change)) throw insufficientFunds(account.currency)
    await store.changeAccount(tx, partnerId, accountId, change)
  }
}

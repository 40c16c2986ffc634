/** Unannounced transfers, and their reversal. */
import type { BodyOf, ResponseOf } from '@partner-payments/wire'
import { type Caller, notFound, readAmount, readCurrency } from '../../api/index.ts'
import { newId, writeAmount } from '../../kernel/index.ts'
import { inTransaction, type Tx } from '../../postgres/index.ts'
import { sandboxConnectorId } from '../../rails/index.ts'
import { requireSandboxCurrency, type SimulationsDeps } from './deps.ts'

export type CreditSimulations = {
  /** Sends a transfer to an IBAN of the partner. Refuses: validation_failed, not_found (iban), currency_not_supported. */
  readonly credit: (caller: Caller, body: BodyOf<'simulateCredit'>, tx?: Tx) => Promise<ResponseOf<'simulateCredit'>>
  /** Refuses: not_found. */
  readonly reverseCredit: (caller: Caller, creditId: string) => Promise<void>
}

/** A valid IBAN and BIC, and no real person. */
const payer = { account: 'DE89370400440532013000', bic: 'COBADEFFXXX', countryCode: 'DE', address: null } as const

export function createCredits({ db, bank, accounts, deposits }: SimulationsDeps): CreditSimulations {
  return {
    credit: async ({ partnerId }, body, outerTx) => {
      const currency = readCurrency(body.currency)
      const amount = readAmount(body.amount, currency)
      requireSandboxCurrency(currency)
      const { iban: account, remittance = null } = body
      const debtor = { ...payer, name: body.debtorName ?? 'Sandbox Payer' }
      const creditId = newId()
      return inTransaction(db, outerTx, async (tx) => {
        const owner = (await accounts.ownersOf(tx, [account])).get(account)
        // Another partner's account is reported as unknown, even in a sandbox.
        if (owner?.partnerId !== partnerId) throw notFound('account', '/iban')
        const money = { currency, amount }
        bank.sendCredit(tx, partnerId, creditId, { account, money, debtor, remittance, endToEndId: null })
        return { creditId, amount: writeAmount(amount, currency), currency }
      })
    },
    reverseCredit: ({ partnerId }, creditId) =>
      db.transaction(async (tx) => {
        const money = await deposits.moneyOfCredit(tx, partnerId, sandboxConnectorId, creditId.toLowerCase())
        if (money === undefined) throw notFound('credit')
        const details = 'The bank cancelled the booking.'
        bank.reverseCredit(tx, partnerId, creditId.toLowerCase(), { money, details })
      }),
  }
}

/** Pure: which connector carries a payment. */
import type { Rail } from '@partner-payments/wire'
import type { Currency } from '../kernel/index.ts'

/** What a rule may ask of a payment; a part that is absent matches every payment. */
export type ConnectorRule = {
  readonly partnerId?: string
  readonly rail?: Rail
  readonly currency?: Currency
  /** Null: no connector carries these payments. */
  readonly connector: string | null
}

export type RoutedPayment = { readonly partnerId: string; readonly rail: Rail; readonly currency: Currency }

/** The id of the connector that carries the payment; undefined: none does. */
export type ChooseConnector = (payment: RoutedPayment) => string | undefined

/** The first rule that matches decides; without one, `fallback` does. */
export const createChooseConnector =
  (rules: readonly ConnectorRule[], fallback: string | null): ChooseConnector =>
  (payment) => {
    const rule = rules.find(
      ({ partnerId, rail, currency }) =>
        (partnerId ?? payment.partnerId) === payment.partnerId &&
        (rail ?? payment.rail) === payment.rail &&
        (currency ?? payment.currency) === payment.currency,
    )
    return (rule === undefined ? fallback : rule.connector) ?? undefined
  }

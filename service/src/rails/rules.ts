/** Pure: the ids of connectors, and which one carries a payment. */
import type { Rail } from '@partner-payments/wire'
import type { Currency } from '../kernel/index.ts'

/** The conditions of a rule; an absent one matches every payment. */
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

/**
 * A chain carries tokens only, and a bank none: a rule for a partner's payments to its bank does not apply to its
 * tokens.
 */
const carries = (connector: string | null, { rail }: RoutedPayment): boolean =>
  connector === null || isChainConnectorId(connector) === (rail === 'Wallet')

/** The first rule that matches decides; without one, `fallback` does, and for tokens `chainFallback`. */
export const createChooseConnector =
  (
    rules: readonly ConnectorRule[],
    fallback: string | null,
    chainFallback: (currency: Currency) => string | null = () => null,
  ): ChooseConnector =>
  (payment) => {
    const rule = rules.find(
      ({ partnerId, rail, currency, connector }) =>
        (partnerId ?? payment.partnerId) === payment.partnerId &&
        (rail ?? payment.rail) === payment.rail &&
        (currency ?? payment.currency) === payment.currency &&
        carries(connector, payment),
    )
    const otherwise = payment.rail === 'Wallet' ? chainFallback(payment.currency) : fallback
    return (rule === undefined ? otherwise : rule.connector) ?? undefined
  }

/** The ids of connectors: the settings that choose a payment's connector know their format. */
export const sandboxConnectorId = 'sandbox'
/** The connector of payouts to an account of this service. No setting can choose it. */
export const internalConnectorId = 'internal'
export const simulatedChainConnectorId = 'sandbox-chain'

/** The connector of a file-based bank: `iso20022`, or `iso20022-<name>`. */
export const isoConnectorId = (name: string | undefined): string =>
  name === undefined ? 'iso20022' : `iso20022-${name}`
const isoConnectorForm = /^iso20022(?:-[a-z0-9][a-z0-9-]{0,39})?$/
export const isIsoConnectorId = (id: string): boolean => isoConnectorForm.test(id)

export const chainConnectorId = (chainId: number): string => `evm-${chainId}`
const evmConnectorForm = /^evm-[1-9]\d{0,15}$/
export const isChainConnectorId = (id: string): boolean => id === simulatedChainConnectorId || evmConnectorForm.test(id)

/** The ids of connectors, and the choice of a payment's connector. Pure. */
import type { Rail } from '@partner-payments/wire'
import type { Currency } from '../kernel/index.ts'

/** The conditions of a rule. An absent condition matches every payment. */
export type ConnectorRule = {
  readonly partnerId?: string
  readonly rail?: Rail
  readonly currency?: Currency
  /** Null: these payments are not supported. */
  readonly connector: string | null
}

export type RoutedPayment = { readonly partnerId: string; readonly rail: Rail; readonly currency: Currency }

/** Returns the id of the payment's connector; undefined if there is none. */
export type ChooseConnector = (payment: RoutedPayment) => string | undefined

/** Chains only support tokens, and banks do not: a rule that names a bank does not apply to tokens. */
const canCarry = (connector: string | null, { rail }: RoutedPayment): boolean =>
  connector === null || isChainConnectorId(connector) === (rail === 'Wallet')

/** Chooses the connector of the first matching rule, or else `fallback`, or for tokens `chainFallback`. */
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
        canCarry(connector, payment),
    )
    const otherwise = payment.rail === 'Wallet' ? chainFallback(payment.currency) : fallback
    return (rule === undefined ? otherwise : rule.connector) ?? undefined
  }

export const sandboxConnectorId = 'sandbox'
/** The connector of payouts to accounts of this installation. Settings cannot choose it. */
export const internalConnectorId = 'internal'
export const simulatedChainConnectorId = 'sandbox-chain'

/** Formats the connector id of a file-based bank: `iso20022`, or `iso20022-<name>`. */
export const isoConnectorId = (name: string | undefined): string =>
  name === undefined ? 'iso20022' : `iso20022-${name}`
const isoConnectorForm = /^iso20022(?:-[a-z0-9][a-z0-9-]{0,39})?$/
export const isIsoConnectorId = (id: string): boolean => isoConnectorForm.test(id)

export const chainConnectorId = (chainId: number): string => `evm-${chainId}`
const evmConnectorForm = /^evm-[1-9]\d{0,15}$/
export const isChainConnectorId = (id: string): boolean => id === simulatedChainConnectorId || evmConnectorForm.test(id)

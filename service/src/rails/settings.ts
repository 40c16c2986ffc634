/** The settings that choose a payment's connector. */
import { type Rail, transactions } from '@partner-payments/wire'
import {
  type Currency,
  integer,
  isCurrency,
  type Mode,
  oneOf,
  refuseSetting,
  type Settings,
  uuidPattern,
} from '../kernel/index.ts'
import { type ConnectorRule, isChainConnectorId, isIsoConnectorId } from './rules.ts'

const connectorIds = ['sandbox', 'none'] as const

/** Reads one part of a rule: a rail, a currency or a partner id. */
function readPart(part: string): Omit<ConnectorRule, 'connector'> {
  const rail = transactions.rails.find((name) => name === part)
  if (rail !== undefined) return { rail: rail satisfies Rail }
  if (isCurrency(part)) return { currency: part satisfies Currency }
  if (uuidPattern.test(part)) return { partnerId: part }
  return refuseSetting(
    `must name rails (${transactions.rails.join(', ')}), currencies or partner ids: ${part} is none of them`,
  )
}

function readRule(text: string): ConnectorRule {
  const [left = '', right, ...rest] = text.split('=')
  const isConfigured = right !== undefined && (isChainConnectorId(right) || isIsoConnectorId(right))
  const connector = isConfigured ? right : connectorIds.find((id) => id === right)
  if (connector === undefined || rest.length > 0)
    return refuseSetting(
      `must be rules such as Swift/USD=none, with a connector of ${connectorIds.join(', ')}, iso20022, iso20022-<name>, sandbox-chain, evm-<chain id>`,
    )
  const parts = left.split('/').map(readPart)
  const rule = Object.assign({}, ...parts) as Omit<ConnectorRule, 'connector'>
  if (Object.keys(rule).length < parts.length)
    return refuseSetting(`must name each rail, currency and partner once in a rule: ${left}`)
  return { ...rule, connector: connector === 'none' ? null : connector }
}

export const railsSettings = {
  PAYOUT_ATTEMPTS_MAX: {
    default: '300',
    description:
      'Attempts to submit a payout to a bank that does not answer. Then the payout fails as `BankUnreachable` if the bank does not have it. 300 attempts take about a day',
    read: integer(1, 10_000, 300),
  },
  RAIL: {
    default: 'sandbox; none in production',
    description:
      'The bank connector of payouts that do not match a rule of RAIL_RULES: `sandbox`, `none`, or a bank of ISO20022_BANKS (`iso20022`, `iso20022-<name>`)',
    read: (value: string | undefined, mode: Mode): string =>
      value !== undefined && isIsoConnectorId(value)
        ? value
        : oneOf([...connectorIds, 'iso20022'], mode === 'sandbox' ? 'sandbox' : 'none')(value),
  },
  RAIL_RULES: {
    default: '',
    description:
      'The connectors of payouts: rules separated by commas; the first matching rule decides. A rule is a rail, a currency, a partner id, or several of them joined by `/`, then `=` and a connector: `Swift/USD=none`. A payout keeps the connector with which it was accepted. A bank connector that neither RAIL nor a rule names does not run, so let its payouts end first. Tokens need a chain (`Wallet/USDC=evm-8453`), which does not support other currencies. Without a rule, tokens use the only chain with the token, or in a sandbox the simulated chain',
    read: (value: string | undefined): readonly ConnectorRule[] =>
      value === undefined || value.trim() === '' ? [] : value.split(',').map((rule) => readRule(rule.trim())),
  },
} as const satisfies Settings

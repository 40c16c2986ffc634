/** The page of every default that differs between a sandbox and production, made from the settings. */
import { markdownTable } from '../../kernel/index.ts'

export type Difference = {
  readonly name: string
  readonly sandbox: string
  readonly production: string
  readonly inWords: string
  readonly description: string
  readonly isStandIn: boolean
}

const tableOf = (differences: readonly Difference[]): string =>
  markdownTable(
    ['setting', 'sandbox', 'production', 'default', 'meaning'],
    differences.map(({ name, sandbox, production, inWords, description }) => [
      `\`${name}\``,
      `\`${sandbox}\``,
      `\`${production}\``,
      inWords,
      description,
    ]),
  )

export function differencesPage(differences: readonly Difference[]): string {
  const standIns = differences.filter(({ isStandIn }) => isStandIn)
  const others = differences.filter(({ isStandIn }) => !isStandIn)
  return `# Sandbox and production

A sandbox has other defaults than production. The operator can set each of them. Ask the operator which ones apply to you.

The most important one is whose money pays. In a sandbox a balance is pooled: a payout for a customer may use the money of all
customers and yours. In production it is segregated: only the money of that customer pays. \`payoutsUse\` in
\`GET /v1/accounts\` and the rule \`funds\` of a preview say which one a balance is.

## Defaults that differ

A sandbox that is started with \`SANDBOX_DEFAULTS=production\` has the defaults of production for these settings.

${tableOf(others)}

## Systems that a sandbox simulates

They stand for banks, markets, schemes, providers and receivers of webhooks outside, and stay with \`SANDBOX_DEFAULTS=production\`.

${tableOf(standIns)}

## What no setting changes

Only a sandbox explains a signature that it refuses, and takes \`http\` to \`localhost\` as an address of your team or of an identity
provider. It asks for no proof of a domain that ends with \`.example\` or \`.test\`, and signs a head of the audit log after five
seconds; production signs one a day.
`
}

/** The page of the configuration: the variables, from the table that the service reads them with. */
import { deliveryLimitsDefault, operatorLimits } from '../../service/src/webhooks/index.ts'
import { settings } from '../../service/src/app/config.ts'
import { markdownTable } from '../../service/src/kernel/index.ts'

type SettingRow = { readonly default: string; readonly description: string; readonly secret?: true }

export function configurationPage(): string {
  const rows = (Object.entries(settings) as [string, SettingRow][]).map(
    ([name, { default: byDefault, description, secret }]) => [
      `\`${name}\``,
      byDefault,
      description,
      secret ? 'yes' : '',
    ],
  )
  return `# Configuration

All configuration is environment variables, read once at the start. There is no configuration file. An empty variable
counts as not set. On a wrong value, a misspelt name or a value that production does not allow, the process prints one
line on standard error and ends with exit code 1. At level \`info\` the first log line shows the configuration in
force, secrets as \`[set]\`.

${markdownTable(['variable', 'default', 'meaning', 'secret'], rows)}

## Limits of webhook delivery

\`WEBHOOK_LIMITS\` changes these; times are in milliseconds.

${markdownTable(
  ['limit', 'default'],
  operatorLimits.map((name) => [`\`${name}\``, String(deliveryLimitsDefault[name])]),
)}

## Production

\`MODE=production\` requires \`MASTER_KEY\` and \`SMTP_URL\`, and refuses \`SIMULATIONS=on\`, \`RAIL=sandbox\` and
\`WEBHOOK_HTTP=on\`. It writes no credentials file. Create partners and service accounts with the
[operator's commands](../operations.md#operators-commands).

## Separate roles

The roles \`gateway\`, \`api\` and \`worker\` require the same \`DATABASE_URL\` and the same \`MASTER_KEY\`. \`gateway\` also
requires \`API_URL\`. See [the roles](../operations.md#roles). The role \`router\` requires only \`CELL_URLS\`: see
[cells](../operations.md#cells).
`
}

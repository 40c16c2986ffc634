/** Monitors of balances. All operations are extensions. */
import {
  Amount,
  Currency,
  Email,
  Timestamp,
  Type,
  Uuid,
  closed,
  described,
  nullable,
  oneOf,
  optional,
  page,
  pageQuery,
  singleLine,
} from './shapes.ts'

export const monitorsPerAccountMax = 20
const emailsMax = 10
const descriptionCharsMax = 140

export const monitorDirections = ['Below', 'Above'] as const
export const monitorMeasures = ['Posted', 'Available'] as const
export const monitorStates = ['Armed', 'Triggered', 'Ended'] as const
export const crossingKinds = ['Triggered', 'Rearmed'] as const

const direction = described(
  oneOf(monitorDirections),
  '`Below` triggers when the balance is lower than `threshold`, `Above` when it is higher. A balance of exactly `threshold` does not trigger.',
)
const threshold = described(
  Amount,
  'The balance that is watched for, in major units of the currency of the account: 0 to 1,000,000,000,000, with `Below` greater than 0.',
  { examples: [1000.5] },
)
const rearmText =
  'Balance that rearms the monitor after it has triggered: with `Below` at least this amount, with `Above` at most. ' +
  'In major units.'
const measureText =
  'Watched sum. `Posted`: settled money, as in the entries of the account. `Available`: `Posted` minus the money reserved for payouts.'
const emails = described(
  Type.Array(Email, { maxItems: emailsMax }),
  'Mail addresses that get a mail each time the monitor triggers, at most 10. Each is a member of your team: its newest invitation is not revoked.',
  { examples: [['treasury@partner.example.com']] },
)
const event = described(
  Type.Boolean(),
  'Whether the event `account.balance.crossed` is sent, to subscriptions with it in `extensionEvents`. Default: true.',
)
const descriptionText = 'Your note about the monitor, 1 to 140 characters. Mails show it.'
const notify = described(
  closed({ emails: optional(emails), event: optional(event) }),
  'Recipients of the alert. At least one address, or the event. Default: the event alone.',
)

export const MonitorCreate = closed({
  direction,
  threshold,
  rearmAt: optional(described(Amount, `${rearmText} Default: the threshold.`)),
  measure: optional(described(oneOf(monitorMeasures), `${measureText} Default: \`Posted\`.`)),
  notify: optional(notify),
  description: optional(described(singleLine(descriptionCharsMax), descriptionText, { examples: ['Float is low'] })),
})

export const MonitorUpdate = closed({
  direction: optional(direction),
  threshold: optional(threshold),
  rearmAt: optional(described(nullable(Amount), `${rearmText} Null: the threshold.`)),
  measure: optional(described(oneOf(monitorMeasures), measureText)),
  notify: optional(
    described(
      closed({ emails: optional(emails), event: optional(event) }),
      'Recipients of the alert. Omitted fields stay unchanged. At least one address, or the event, must remain.',
    ),
  ),
  description: optional(described(nullable(singleLine(descriptionCharsMax)), `${descriptionText} Null clears it.`)),
})

export const Monitor = closed({
  id: described(Uuid, 'Identifies the monitor.'),
  accountId: described(Uuid, 'The `id` of the balance.'),
  currency: described(Currency, 'Currency of the balance and of all amounts: ISO 4217 alpha-3, or a token code.'),
  direction,
  threshold: described(Amount, 'The balance that is watched for, in major units.'),
  rearmAt: described(Amount, rearmText),
  measure: described(oneOf(monitorMeasures), measureText),
  notify: described(
    closed({
      emails: described(Type.Array(Type.String()), 'Recipients of a mail each time the monitor triggers.'),
      event: described(Type.Boolean(), 'Whether the event `account.balance.crossed` is sent.'),
    }),
    'Recipients of the alert.',
  ),
  description: optional(described(Type.String(), 'Your note about the monitor. Absent without one.')),
  state: described(
    oneOf(monitorStates),
    '`Armed`: triggers when the balance crosses the threshold. `Triggered`: the balance has not come back to `rearmAt`. `Ended`: the account is closed.',
  ),
  lastTriggeredAt: optional(
    described(Timestamp, 'When the balance last crossed the threshold. Absent if it never did.'),
  ),
  lastBalance: optional(
    described(
      Amount,
      'The balance after the last entry that was judged, in major units. Absent until the first judgement.',
    ),
  ),
  createdAt: described(Timestamp, 'Time of the request.'),
  updatedAt: described(Timestamp, 'Time of your last change.'),
  endedAt: optional(described(Timestamp, 'When the monitor ended. Absent before.')),
})
export const MonitorPage = page(Monitor)
export const MonitorQuery = closed({ ...pageQuery })

export const MonitorCrossing = closed({
  id: described(
    Uuid,
    'Identifies the crossing within the monitor: the `id` of the entry, unless the balance stood so at the start.',
  ),
  at: described(Timestamp, 'When the money moved. In the sandbox this is the real time, also if its clock was moved.'),
  kind: described(
    oneOf(crossingKinds),
    '`Triggered`: the balance crossed the threshold. `Rearmed`: it came back to `rearmAt`.',
  ),
  balance: described(Amount, 'The balance after the entry, in major units.'),
  reference: optional(
    described(
      Type.String(),
      'The `reference` of the transaction that moved the money. Absent if the balance stood so when the monitor started.',
    ),
  ),
})
export const MonitorCrossingPage = page(MonitorCrossing)
export const MonitorCrossingQuery = closed({ ...pageQuery })

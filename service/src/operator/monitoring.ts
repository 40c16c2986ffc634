/** Commands for transaction monitoring: rules, their backtests, and the alerts of a partner, also as a file. */
import { open, readFile, writeFile } from 'node:fs/promises'
import { ownJson } from '@partner-payments/wire'
import { ConfigError } from '../app/config.ts'
import { csvAmountCell, currencies, type Currency, nilId, systemClock } from '../kernel/index.ts'
import type { Customer } from '../parties/customers/index.ts'
import { readRule, type MonitoringRule } from '../monitoring/index.ts'
import { decisionsCsv } from '../reports/decisions/index.ts'
import type { Payment } from '../transactions/index.ts'
import {
  type CommandCall,
  runAndRecord,
  type CommandFunctions,
  type Context,
  rethrowFileError,
  recordCommand,
  refusalAsConfigError,
} from './context.ts'
import { counterpartyCustomer, goamlReport } from './goaml.ts'

const alertsPerPage = 200
const hitsPerPage = 1000

export const monitoringCommands: CommandFunctions<`monitoring ${string}`> = {
  /** Saves a new rule, or the next version of a rule. */
  'monitoring rule set': async (context, options, call) => {
    const { rule, from, id, staff } = options
    if ((rule === undefined) === (from === undefined)) throw new ConfigError('operator: give --from or --rule')
    const text = from === undefined ? (rule ?? '') : await readRuleFile(from)
    const given = { ...(id === undefined ? {} : { id }), ...seenVersion(options) }
    return refusalAsConfigError(() => {
      const draft = readRule(text)
      return changeRule(context, call, (tx) => context.service.monitoring.setRule(tx, { ...given, draft, staff }))
    })
  },

  /** Lists the versions of each rule, latest first, with their backtests and the runs that are under way or have failed. */
  'monitoring rule list': async ({ service: { monitoring }, db }) => {
    const rows = await monitoring.rules(db)
    return Promise.all(
      rows.map(async (rule) => ({
        ...ruleView(rule),
        backtests: (await monitoring.backtests(db, rule.id))
          .filter(({ version }) => version === rule.version)
          .map(({ fromDay, untilDay, transactions, hits, subjects, ranBy, ranAt }) => ({
            ...{
              from: fromDay,
              until: lastDay(untilDay),
              transactions: Number(transactions),
              hits: Number(hits),
              subjects: Number(subjects),
            },
            ...{ ranBy, ranAt },
          })),
        runs: (await monitoring.runs(db, rule.id))
          .filter(({ version, endedAt, problem }) => version === rule.version && (endedAt === null || problem !== null))
          .map(({ fromDay, untilDay, transactions, askedBy, askedAt, problem }) => ({
            ...{ from: fromDay, until: lastDay(untilDay), transactions: Number(transactions) },
            ...{ askedBy, askedAt, problem },
          })),
      })),
    )
  },

  /** Prints the figures of decisions for the head of compliance. */
  'monitoring numbers': async ({ service: { numbers } }, { months, format }) => {
    const read = await numbers.read(months)
    return format === 'csv' ? (write) => write(decisionsCsv(read)) : read
  },

  /** Runs the latest version of a rule over some days, and stores the counts. It does not open alerts. */
  'monitoring rule backtest': async ({ service, db }, { id, from, until, staff }, call) => {
    const found = await refusalAsConfigError(() => service.monitoring.backtest({ id, from, until, staff }))
    await db.transaction((tx) => recordCommand(service, tx, call))
    const { transactions, hits, subjects, version, examples } = found
    return { version, transactions: Number(transactions), hits: Number(hits), subjects: Number(subjects), examples }
  },

  /** Queues a backtest of the latest version for a worker. `monitoring rule list` shows its result. It does not open alerts. */
  'monitoring backtest start': (context, options, call) =>
    refusalAsConfigError(() => {
      const { from, until } = options
      return changeRule(context, call, (tx) =>
        context.service.monitoring.askBacktest(tx, { ...ruleKey(options), from, until }),
      )
    }),

  /** Proposes to turn a rule on. When a second person runs the command, the rule is turned on. */
  'monitoring rule on': (context, options, call) =>
    refusalAsConfigError(() =>
      changeRule(context, call, (tx) => context.service.monitoring.turnOn(tx, ruleKey(options))),
    ),

  /** Proposes to turn a rule off. When a second person runs the command, the rule is turned off. */
  'monitoring rule off': (context, options, call) =>
    refusalAsConfigError(() =>
      changeRule(context, call, (tx) => context.service.monitoring.turnOff(tx, ruleKey(options))),
    ),

  'monitoring alert list': async (context, { partner: partnerId }) => {
    const { service, db } = context
    const found = []
    for await (const alert of readAlerts(context, partnerId)) {
      const { waiting, left, ended } = await service.monitoring.payoutStanding(db, partnerId, alert.id)
      found.push({ ...alert, payouts: { waiting: Number(waiting), left: Number(left), ended: Number(ended) } })
    }
    return found
  },

  /** Writes the transactions of a partner's alerts, with the decisions, to a file for the authority or the auditor. */
  'monitoring alert export': async (context, { partner: partnerId, to: file, format, alert: alertId }, call) => {
    const { service, db } = context
    if (format === 'goaml' && alertId === undefined)
      throw new ConfigError('operator: a goAML report is about one alert: give --alert')
    // The access is recorded first, so that it is in the log even if the command is interrupted.
    await db.transaction((tx) => recordCommand(service, tx, call))
    if (format === 'goaml') return exportReport(context, partnerId, alertId ?? '', file)
    const handle = await open(file, 'w').catch(rethrowFileError(file))
    let [alerts, transactions] = [0, 0]
    try {
      await handle.write(`${alertColumns.join(',')}\r\n`)
      for await (const alert of readAlerts(context, partnerId)) {
        if (alertId !== undefined && alert.id !== alertId) continue
        alerts += 1
        for await (const hits of readHits(context, partnerId, alert.id)) {
          transactions += hits.length
          await handle.write(hits.map((hit) => alertLine(alert, hit)).join(''))
        }
      }
    } finally {
      await handle.close()
    }
    return { file, alerts, transactions }
  },
}

/** Maximum transactions of a report, because a person must be able to read and describe them. */
const reportedMax = 10_000

/** Writes an alert as a goAML report with the personal data of its customers. Returns the missing data. */
async function exportReport(context: Context, partnerId: string, alertId: string, file: string) {
  const { service, db, config } = context
  const { FIU_ENTITY_ID: entityId, FIU_REPORTING_PERSON: person, FIU_LOCATION: location, FIU_CODES: codes } = config
  if (entityId === null) throw new ConfigError('operator: set FIU_ENTITY_ID')
  const alert = await findAlert(context, partnerId, alertId)
  if (alert === undefined) throw new ConfigError(`operator: no alert ${alertId} of this partner`)
  const references = new Set<string>()
  for await (const hits of readHits(context, partnerId, alertId))
    for (const { reference, evidence } of hits)
      for (const each of [reference, ...(ownJson<HitEvidence>(evidence).references ?? [])])
        if (each !== '') references.add(each)
  if (references.size === 0) throw new ConfigError('operator: the transactions of the alert were erased')
  if (references.size > reportedMax)
    throw new ConfigError(
      `operator: the alert has ${references.size} transactions, and a report at most ${reportedMax}`,
    )
  const rows = await service.monitoring.payments(db, partnerId, [...references])
  const currency = service.rates.referenceCurrency
  const convert = await service.rates.converter(db)
  const rates = new Map(
    (Object.keys(currencies) as Currency[]).flatMap((each) => {
      const found = convert({ amount: 1n, currency: each }, currency)
      return found === undefined ? [] : [[each, found.rate] as const]
    }),
  )
  const { text, missing } = goamlReport(
    { entityId, person, location, codes, currency, rates },
    {
      ...{ id: alertId, kind: alert.kind, reportedAt: systemClock.now() },
      partnerName: await service.access.partnerName(db, partnerId),
      reason: reasonText(alert),
      action: actionTexts[alert.state] ?? '',
      payments: rows.map((row) => ({ ...row, local: convert(row, currency)?.amount ?? null })),
      customers: await readCustomers(context, partnerId, rows),
    },
  )
  await writeFile(file, text, { mode: 0o600 }).catch(rethrowFileError(file))
  return { file, alerts: 1, transactions: rows.length, missing }
}

const actionTexts: Readonly<Record<string, string>> = {
  open: 'Under review.',
  noted: 'The alert was closed; payments that waited were released.',
  released: 'The alert was closed; payments that waited were released.',
  refused: 'Payments that waited were refused.',
}
const reasonText = ({ name, kind, note }: Alert): string =>
  `The rule "${name}" (${kind}) has found a pattern of payments.${note === null ? '' : ` ${note}`}`

/** Reads the customers of both sides. Erased customers are absent. */
async function readCustomers({ service, db }: Context, partnerId: string, rows: readonly Payment[]) {
  const others = rows.map(({ account }) => counterpartyCustomer(account) ?? null)
  const ids = new Set([...rows.map(({ customerId }) => customerId), ...others].filter((id) => id !== null))
  const found = new Map<string, Customer>()
  for (const id of ids)
    if ((await service.customers.resolvePresentId(db, partnerId, id)) !== undefined)
      found.set(id, await service.customers.get(partnerId, id))
  return found
}

/** Returns the version that the person has read, if given. */
const seenVersion = ({ version }: { readonly version?: number }): { readonly seen?: number } =>
  version === undefined ? {} : { seen: version }

/** Returns the last day of a backtest. The column has the day after it. */
const lastDay = (untilDay: string): string => Temporal.PlainDate.from(untilDay).subtract({ days: 1 }).toString()

const ruleKey = ({
  id,
  staff,
  ...options
}: {
  readonly id: string
  readonly staff: string
  readonly version?: number
}) => ({
  ...{ id, staff, ...seenVersion(options) },
})

const readRuleFile = (file: string): Promise<string> => readFile(file, 'utf8').catch(rethrowFileError(file))

/** The findings of a rule. Empty after the retention period. */
type HitEvidence = Partial<{
  readonly count: number
  readonly sum: string
  readonly currency: string
  readonly references: readonly string[]
}>
const alertColumns = [
  ...(['id', 'openedAt', 'rule', 'name', 'version', 'kind', 'severity', 'subject', 'state', 'resolvedBy'] as const),
  ...(['resolvedAt', 'note', 'reference', 'count', 'sum', 'currency', 'pattern'] as const),
  ...(['disposition', 'approvedBy'] as const),
] as const
const cellText = (value: string | number | Date | null): string =>
  value === null ? '' : value instanceof Date ? value.toISOString() : `${value}`

type Alert = ReturnType<typeof readAlerts> extends AsyncGenerator<infer T> ? T : never
type Hit = Awaited<ReturnType<Context['service']['monitoring']['hits']>>[number]

function alertLine(alert: Alert, { reference, evidence }: Hit): string {
  const { count = null, sum = '', currency = '', references = [] } = ownJson<HitEvidence>(evidence)
  const cells = { ...alert, ...{ reference, count, sum, currency, pattern: references.join(' ') } }
  return `${alertColumns.map((column) => csvAmountCell(cellText(cells[column]))).join(',')}\r\n`
}

async function* readHits({ service: { monitoring }, db }: Context, partnerId: string, alertId: string) {
  for (let position = nilId; ;) {
    const page = await monitoring.hits(db, partnerId, alertId, position, hitsPerPage)
    if (page.length > 0) yield page
    if (page.length < hitsPerPage) return
    position = page.at(-1)?.transactionId ?? position
  }
}

async function findAlert(context: Context, partnerId: string, alertId: string): Promise<Alert | undefined> {
  for await (const alert of readAlerts(context, partnerId)) if (alert.id === alertId) return alert
  return undefined
}

/** Reads the alerts of a partner, oldest first, each with its rule and its decision. */
async function* readAlerts({ service: { monitoring, cases }, db }: Context, partnerId: string) {
  const rules = new Map((await monitoring.rules(db)).map((rule) => [`${rule.id} ${rule.version}`, rule]))
  for (let position = nilId; ;) {
    const page = await monitoring.alerts(db, partnerId, position, alertsPerPage)
    for (const { id, ruleId, version, subjectId, openedAt, transactions } of page) {
      const rule = rules.get(`${ruleId} ${version}`)
      const { severity = 'medium', when = 'after' } = ownJson<Partial<RuleSettings>>(rule?.settings ?? '{}')
      const decision = await cases.byId(db, partnerId, id)
      yield {
        id,
        openedAt,
        rule: ruleId,
        name: rule?.name ?? '',
        version,
        kind: rule?.kind ?? '',
        severity,
        when,
        subject: subjectId === partnerId ? 'partner' : subjectId,
        transactions: Number(transactions),
        state: decision?.resolution ?? 'open',
        resolvedBy: decision?.resolvedBy ?? null,
        approvedBy: decision?.approvedBy ?? null,
        resolvedAt: decision?.resolvedAt ?? null,
        note: decision?.note ?? null,
        disposition: decision?.disposition ?? null,
      }
    }
    if (page.length < alertsPerPage) return
    position = page.at(-1)?.id ?? position
  }
}

type RuleSettings = { readonly severity: string; readonly when: string }

const ruleView = ({ settings, ...rule }: MonitoringRule) => ({ ...rule, settings: ownJson<object>(settings) })

const changeRule = (context: Context, call: CommandCall, work: Parameters<typeof runAndRecord<MonitoringRule>>[2]) =>
  runAndRecord(context, call, work, ({ id }) => ({ id })).then(ruleView)

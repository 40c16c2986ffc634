/** The operator's commands of monitoring: a rule from a file to an alert that two persons close, and its export. */
import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { operatorPartnerId } from '../../service/src/cases/index.ts'
import { sql } from '../../service/src/postgres/index.ts'
import { addPartner, pay, type TestPartner } from '../support/composition.ts'
import { useOperator } from '../support/fixture.ts'
import { until } from '../support/until.ts'

const { service, folder, env, printed, refused } = await useOperator({ now: new Date() })

const rule = (...args: readonly string[]) => ['monitoring', 'rule', ...args]
const ada = ['--staff', 'Ada'] as const
const joan = ['--staff', 'Joan'] as const

/** Tests the goAML report of an alert about three payments, with its settings. */
async function reported({ partnerId, customer }: TestPartner, alertId: string): Promise<void> {
  const file = join(folder, 'r.xml')
  const report = ['monitoring', 'alert', 'export', '--partner', partnerId, '--format', 'goaml', '--to', file]
  assert.match(await refused(...report), /is about one alert: give --alert/)
  assert.match(await refused(...report, '--alert', alertId), /set FIU_ENTITY_ID/)
  Object.assign(env, {
    FIU_ENTITY_ID: '1234',
    FIU_REPORTING_PERSON: 'Ada;Lovelace',
    FIU_LOCATION: 'Main Street 1;Vilnius;LT',
    FIU_CODES: 'transmode=ELCFT,funds=ELCFT,indicator.structuring=STRC',
  })
  assert.match(await refused(...report, '--alert', partnerId), /no alert .* of this partner/)
  const written = await printed<{ transactions: number; missing: string[] }>(...report, '--alert', alertId)
  // Two payments of the pattern are older than the rule.
  assert.equal(written.transactions, 3)
  const { serviceId } = await service.customers.get(partnerId, customer.id)
  for (const lacking of [
    `birthdate of customer ${serviceId}`,
    `gender, residence and identity document of customer ${serviceId}`,
  ])
    assert.ok(written.missing.includes(lacking), lacking)
  assert.ok(!written.missing.some((lacking) => /FIU_|amount_local/.test(lacking)))
  const text = await readFile(file, 'utf8')
  const tags = [...text.matchAll(/<(?<tag>\w+)>/g)].map((match) => match.groups?.['tag'])
  const head = `report rentity_id submission_code report_code entity_reference submission_date currency_code_local
    reporting_person first_name last_name location address_type address city country_code reason action`
  assert.deepEqual(tags.slice(0, 17), head.split(/\s+/))
  assert.match(text, /<reason>The rule "Just under 1,000" \(structuring\) .* =Its salaries<\/reason>/)
  const [, , , last = ''] = text.split('<transaction>')
  assert.match(
    last,
    /<amount_local>970\.00<\/amount_local><t_from_my_client><from_funds_code>ELCFT<\/from_funds_code><from_person><first_name>Ada<\/first_name><last_name>Lovelace<\/last_name><nationality1>GB<\/nationality1>/,
  )
  assert.match(
    last,
    /<t_to><to_funds_code>ELCFT<\/to_funds_code><to_account>.*<account>DE89370400440532013000<\/account><currency_code>EUR<\/currency_code><account_name>Grace Hopper<\/account_name><iban>DE89370400440532013000<\/iban><\/to_account><to_country>DE<\/to_country><\/t_to><\/transaction>/,
  )
  assert.match(text, /<report_indicators><indicator>STRC<\/indicator><\/report_indicators><\/report>\n$/)
}

test('a rule from a file raises an alert that two people close and export, hidden from the partner', async () => {
  const partner = await addPartner(service, 10_000_00n)
  const { partnerId, customer } = partner
  const file = join(folder, 'rule.json')
  const given = { name: 'Just under 1,000', kind: 'structuring', currency: 'EUR', direction: 'Outward' }
  await writeFile(file, JSON.stringify({ ...given, hours: 0, threshold: '1000.00', count: 2 }))
  assert.equal(
    await refused(...rule('set', '--from', file, ...ada)),
    'operator: /hours must be a whole number from 1 to 2160.',
  )
  assert.match(await refused(...rule('set', '--from', join(folder, 'none.json'), ...ada)), /none\.json: ENOENT/)
  await writeFile(file, JSON.stringify({ ...given, hours: 72, threshold: '1000.00', count: 2, severity: 'high' }))
  const { id } = await printed<{ id: string }>(...rule('set', '--from', file, ...ada))
  await pay(service, partner, '950.00')
  await pay(service, partner, '960.00')
  const day = service.clock.now().toISOString().slice(0, 10)
  assert.match(await refused(...rule('on', '--id', id, ...ada)), /Version 1 does not have a backtest/)
  const days = ['--from', day, '--until', day]
  const tested = await printed<{ hits: number; subjects: number }>(...rule('backtest', '--id', id, ...days, ...ada))
  assert.deepEqual([tested.hits, tested.subjects], [2, 1])
  await printed(...rule('on', '--id', id, ...ada))
  assert.match(await refused(...rule('on', '--id', id, ...ada)), /another person/)
  await printed(...rule('on', '--id', id, ...joan))
  const [listed] = await printed<readonly { state: string; backtests: readonly object[] }[]>(...rule('list'))
  assert.deepEqual([listed?.state, listed?.backtests.length], ['On', 1])

  // The commands use the clock of the machine, and the service a manual clock.
  service.clock.advance(Date.now() - service.clock.now().getTime() + 1)
  await pay(service, partner, '970.00')
  const alerts = () =>
    printed<readonly { id: string; state: string; subject: string; transactions: number; when: string }[]>(
      ...['monitoring', 'alert', 'list', '--partner', partnerId],
    )
  await until('the alert is open', async () => {
    await service.monitoring.step()
    return (await alerts()).length > 0
  })
  const [alert = { id: '', state: '', subject: '', transactions: 0, when: '' }] = await alerts()
  assert.deepEqual([alert.state, alert.subject, alert.transactions, alert.when], ['open', customer.id, 1, 'after'])
  const ofCase = ['--partner', partnerId, '--id', alert.id]
  await printed(
    'case',
    'propose',
    ...ofCase,
    '--action',
    'release',
    '--disposition',
    'explained',
    '--note',
    '=Its salaries',
    ...ada,
  )
  await printed('case', 'approve', ...ofCase, ...joan)
  const to = join(folder, 'alerts.csv')
  const exported = await printed('monitoring', 'alert', 'export', '--partner', partnerId, '--to', to)
  assert.deepEqual(exported, { file: to, alerts: 1, transactions: 1 })
  const [head, line = '', end] = (await readFile(to, 'utf8')).split('\r\n')
  assert.match(head ?? '', /^id,openedAt,rule,name,version,kind,severity,/)
  assert.match(
    line,
    /,"Just under 1,000",1,structuring,high,.*,released,Ada,.*,'=Its salaries,.*,3,2880\.00,EUR,.*,explained,Joan$/,
  )
  assert.equal(end, '')

  await reported(partner, alert.id)
  const actions = await service.db.rows<{ partnerId: string; action: string }>(sql`
    select partner_id, content::json ->> 'action' as action from audit.records where content ~ 'operator (monitoring|case)'`)
  assert.ok(actions.length >= 5)
  assert.ok(actions.every((row) => row.partnerId === operatorPartnerId))
})

/** The examples of deploy/: they name metrics, files, roles and runbooks that exist. */
import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../../', import.meta.url))
const read = (path: string) => readFileSync(join(root, path), 'utf8')

/** The metrics of docs/operations.md, which ports.test.ts compares with a running service. */
const metrics = new Set(
  [...read('docs/operations.md').matchAll(/`((?:payments|nodejs|process)_\w+)`/g)].map((match) => match[1]),
)
const seriesSuffix = /_(?:count|sum|bucket)$/
const unknownMetrics = (expression: string) =>
  [...expression.matchAll(/\b((?:payments|nodejs|process)_\w+)\b/g)]
    .map((match) => match[1] ?? '')
    .filter((name) => !metrics.has(name) && !metrics.has(name.replace(seriesSuffix, '')))

type Alert = { readonly name: string; readonly expression: string; readonly runbook: string }
const alerts: readonly Alert[] = read('deploy/prometheus/alerts.yml')
  .split('- alert: ')
  .slice(1)
  .map((text) => ({
    name: text.split('\n')[0]?.trim() ?? '',
    expression: /^ *expr: (.*)$/m.exec(text)?.[1] ?? '',
    runbook: /^ *runbook: (.*)$/m.exec(text)?.[1] ?? '',
  }))

test('every alert uses metrics of the service and has a runbook with meaning, check and act', () => {
  assert.ok(alerts.length >= 10)
  for (const { name, expression, runbook } of alerts) {
    assert.notEqual(expression, '', name)
    assert.deepEqual(unknownMetrics(expression), [], name)
    const page = read(runbook)
    for (const heading of ['## Meaning', '## Check', '## Act'])
      assert.ok(page.includes(heading), `${runbook} ${heading}`)
  }
})

test('every alert runbook belongs to an alert and is in the index', () => {
  const folder = 'docs/runbooks/alerts'
  const pages = readdirSync(join(root, folder)).filter((name) => name !== 'README.md')
  assert.deepEqual(pages.toSorted(), alerts.map(({ name }) => `${name}.md`).toSorted())
  const index = read(`${folder}/README.md`)
  for (const page of pages) assert.ok(index.includes(`(${page})`), page)
})

test('every panel of the dashboard uses metrics of the service', () => {
  const { panels } = JSON.parse(read('deploy/grafana/dashboard.json')) as {
    readonly panels: readonly { readonly title: string; readonly targets: readonly { readonly expr: string }[] }[]
  }
  assert.ok(panels.length >= 10)
  for (const { title, targets } of panels)
    for (const { expr } of targets) assert.deepEqual(unknownMetrics(expr), [], title)
})

test('the container image copies and starts files of the repository', () => {
  const dockerfile = read('deploy/docker/Dockerfile')
  const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap((match) => (match[1] ?? '').split(' '))
  assert.ok(copied.length >= 8)
  for (const path of copied) assert.ok(existsSync(join(root, path)), path)
  const [, program = ''] = /ENTRYPOINT \["[^"]+", "([^"]+)"\]/.exec(dockerfile) ?? []
  assert.ok(existsSync(join(root, program)), program)
})

test('the units start roles of the program and wait as long as a stop may take', () => {
  const roles = /const roles = \[(.*)\]/.exec(read('service/src/roles.ts'))?.[1] ?? ''
  assert.match(roles, /'migrate'/)
  assert.match(
    read('deploy/systemd/partner-payments-migrate.service'),
    /^ExecStart=\S+ service\/src\/main\.ts migrate$/m,
  )
  const unit = read('deploy/systemd/partner-payments@.service')
  assert.match(unit, /^ExecStart=\S+\/node_modules\/\.bin\/node service\/src\/main\.ts %i$/m)
  const stopMs = Number(
    /const stopTimeoutMs = ([\d_]+)/.exec(read('service/src/app/process.ts'))?.[1]?.replaceAll('_', ''),
  )
  const waitSeconds = Number(/^TimeoutStopSec=(\d+)$/m.exec(unit)?.[1])
  assert.ok(waitSeconds * 1000 > stopMs, `${waitSeconds} s is too short for ${stopMs} ms`)
})

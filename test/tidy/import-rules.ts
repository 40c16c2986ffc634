/** Rules for imports: layers, public interfaces, cycles, packages. Source: docs/architecture.md, Layers. */
import { type Layers, packageOf, placeOf, resolve, topOf } from './places.ts'
import { finding, type Finding, isTest, type Source } from './source.ts'

const isService = (source: Source): boolean => !isTest(source) && placeOf(source.path) !== undefined

/** Every place of the service stands in the table of layers. */
export function checkPlaces(sources: readonly Source[], { layerOf }: Layers): readonly Finding[] {
  return sources.filter(isService).flatMap((source) => {
    const name = placeOf(source.path)?.name ?? ''
    return name === 'sdk' || layerOf.has(name) ? [] : [finding(source, 0, `place ${name} has no layer in the table`)]
  })
}

/** A file imports lower layers, its own folder or a declared place of its layer; another folder by its index.ts only; `app` also by its settings.ts. */
export function checkLayers(sources: readonly Source[], layers: Layers): readonly Finding[] {
  return sources.filter(isService).flatMap((source) =>
    source.imports.flatMap(({ from, at }) => {
      const target = resolve(source.path, from)
      if (target === undefined) return []
      const here = placeOf(source.path)
      const there = placeOf(target)
      if (there === undefined) return [finding(source, at, `the service imports ${target}, which is outside it`)]
      if (here === undefined || here.home === there.home) return []
      const found: Finding[] = []
      // A configuration that imported public interfaces would load the whole service into every command.
      const isSettings = target === `${there.home}/settings.ts` && here.name.startsWith('app/')
      if (there.home !== target && target !== `${there.home}/index.ts` && !isSettings)
        found.push(finding(source, at, `${target}: another folder is imported by its index.ts only`))
      if (there.name === 'wire' && from.startsWith('.'))
        found.push(finding(source, at, 'the contract is imported as @partner-payments/wire'))
      return [...found, ...layerFinding(source, at, here.name, there.name, layers)]
    }),
  )
}

function layerFinding(source: Source, at: number, here: string, there: string, layers: Layers): readonly Finding[] {
  // The client is written against the published contract and has no dependencies, types included.
  if (here === 'sdk' || there === 'sdk') return [finding(source, at, `${here} and ${there} share no code`)]
  const { layerOf, edges, names } = layers
  const [low, high] = [layerOf.get(there), layerOf.get(here)]
  if (low === undefined || high === undefined || low < high) return []
  if (low === high && edges.get(here)?.has(there)) return []
  return [finding(source, at, `${here} (${names[high]}) imports ${there} (${names[low]})`)]
}

/** A file imports a path once: as a namespace or by one list. A default type cannot share a statement with other types. */
export function checkImportedOnce(sources: readonly Source[]): readonly Finding[] {
  return sources.flatMap((source) => {
    const seen = new Set<string>()
    return [...source.code.matchAll(/^import\b(?!\s+type\s+\w+\s+from\b)[^'"`;()]*?\bfrom\s*(?=['"])/gm)].flatMap(
      (match) => {
        const from = source.imports.find(({ at }) => at === match.index + match[0].length)?.from ?? ''
        if (seen.has(from))
          return [finding(source, match.index, `${from} is imported once, as a namespace or by one list`)]
        seen.add(from)
        return []
      },
    )
  })
}

/** Declared imports within a layer that no file makes: the table says what is there. */
export function unusedEdges(sources: readonly Source[], { edges }: Layers): readonly string[] {
  const used = new Set(
    sources
      .filter(isService)
      .flatMap((source) =>
        source.imports.map(
          ({ from }) => `${placeOf(source.path)?.name} -> ${placeOf(resolve(source.path, from) ?? '')?.name}`,
        ),
      ),
  )
  return [...edges].flatMap(([here, targets]) =>
    [...targets].map((there) => `${here} -> ${there}`).filter((edge) => !used.has(edge)),
  )
}

/** The gateway sees modules as `Handlers` values; only the composition root imports every module. The configuration reads their settings. */
export function checkModulesUnseen(sources: readonly Source[]): readonly Finding[] {
  const blind = new Set(['edge/gateway', 'main', 'app/config'])
  return sources.filter(isService).flatMap((source) =>
    source.imports.flatMap(({ from, at }) => {
      const here = placeOf(source.path)?.name ?? ''
      const target = resolve(source.path, from) ?? ''
      const there = placeOf(target)
      const isSettings = here === 'app/config' && target === `${there?.home}/settings.ts`
      return there?.isModule && blind.has(here) && !isSettings
        ? [finding(source, at, `${here} may not import ${there.name}`)]
        : []
    }),
  )
}

/** No file reaches itself by imports, type imports included. Each cycle is named once. */
export function checkCycles(sources: readonly Source[]): readonly Finding[] {
  const byPath = new Map(sources.map((source) => [source.path, source]))
  const done = new Set<string>()
  const found: Finding[] = []
  const visit = (source: Source, trail: readonly string[]) => {
    if (trail.includes(source.path)) {
      const cycle = [...trail.slice(trail.indexOf(source.path)), source.path]
      found.push(finding(source, 0, `import cycle: ${cycle.join(' -> ')}`))
      return
    }
    if (done.has(source.path)) return
    for (const { from } of source.imports) {
      const next = byPath.get(resolve(source.path, from) ?? '')
      if (next) visit(next, [...trail, source.path])
    }
    done.add(source.path)
  }
  for (const source of sources) visit(source, [])
  return found
}

/** No folder of `service/src` reaches itself through others: each stands above or below another one, whatever its parts do. */
export function checkTops(sources: readonly Source[]): readonly string[] {
  const below = new Map<string, Set<string>>()
  for (const source of sources.filter(isService)) {
    const here = topOf(placeOf(source.path)?.name ?? '')
    for (const { from } of source.imports) {
      const there = topOf(placeOf(resolve(source.path, from) ?? '')?.name ?? '')
      if (there !== '' && there !== here) below.set(here, (below.get(here) ?? new Set()).add(there))
    }
  }
  const done = new Set<string>()
  const found: string[] = []
  const visit = (top: string, trail: readonly string[]) => {
    if (trail.includes(top)) {
      const circle = [...trail.slice(trail.indexOf(top)), top]
      found.push(`service/src/${top} imports itself: ${circle.join(' -> ')}`)
    } else if (!done.has(top)) {
      for (const next of below.get(top) ?? []) visit(next, [...trail, top])
      done.add(top)
    }
  }
  for (const top of below.keys()) visit(top, [])
  return found
}

/** The users of a package; `tests` are all test files and test/, scripts/, bench/, examples/. */
export const packageUsers: Readonly<Record<string, readonly string[]>> = {
  '@fastify/reply-from': ['edge/gateway'],
  '@opentelemetry/api': ['edge/observability'],
  '@opentelemetry/context-async-hooks': ['edge/observability'],
  '@opentelemetry/core': ['edge/observability'],
  '@opentelemetry/exporter-trace-otlp-http': ['edge/observability'],
  '@opentelemetry/resources': ['edge/observability'],
  '@opentelemetry/sdk-trace': ['edge/observability'],
  '@simplewebauthn/server': ['people/sign-in'],
  '@zxcvbn-ts/core': ['people/sign-in'],
  '@zxcvbn-ts/language-common': ['people/sign-in'],
  'any-ascii': ['iso20022', 'screening', 'parties/customers'],
  'fast-check': [],
  fastify: ['edge/gateway'],
  'i18n-iso-countries': ['parties/customers', 'parties/beneficiaries', 'accounts', 'checkout', 'screening'],
  'libphonenumber-js': ['parties/customers'],
  ibantools: ['parties/beneficiaries', 'rails'],
  'ipaddr.js': ['webhooks', 'edge/gateway'],
  marked: ['edge/gateway'],
  pdfkit: ['typesetting'],
  nodemailer: ['mail'],
  'openid-client': ['people/sign-in'],
  otpauth: ['people/sign-in'],
  pg: ['postgres'],
  pino: ['kernel'],
  'prom-client': ['edge/observability'],
  qrcode: ['pages'],
  sax: ['branding', 'iso20022', 'rates'],
  'smtp-server': [],
  'ssh2-sftp-client': ['banks/files'],
  standardwebhooks: [],
  typebox: ['wire', 'edge/gateway'],
  undici: ['edge/gateway', 'webhooks', 'chains/evm', 'rates'],
  viem: ['chains/evm'],
}
/** Outside the service `pg` serves only what makes databases and what measures them. */
const pgOutside = /^(?:test\/support|scripts|bench)\//
/** A computed import, and why it cannot be a literal. */
const computedImports: Readonly<Record<string, string>> = {
  'service/src/postgres/embedded/binaries.ts': 'the package of the platform that it runs on',
}
/** Places that reach no file, socket or process: they compute, or speak to the database by `postgres`. */
const isInner = (name: string, isModule: boolean): boolean =>
  isModule || ['wire', 'ledger', 'lifecycle', 'events', 'access', 'kernel', 'kernel/api'].includes(name)
/** A file that takes what is pure of another module: here the lists of addresses. */
const pureParts: Readonly<Record<string, string>> = { 'service/src/access/credentials.ts': 'node:net' }
const innerBuiltins = new Set([
  'node:module',
  'node:crypto',
  'node:util',
  'node:async_hooks',
  'node:buffer',
  'node:zlib',
])

export function checkPackages(sources: readonly Source[]): readonly Finding[] {
  return sources.flatMap((source) =>
    source.imports.flatMap(({ from, at }) => {
      const used = packageOf(from)
      const place = placeOf(source.path)
      if (used === undefined) return []
      if (used === 'pg' && !place && !pgOutside.test(source.path)) return [finding(source, at, 'pg is not used here')]
      if (isTest(source) || !place) return []
      if (used === '?')
        return source.path in computedImports ? [] : [finding(source, at, 'an import of a computed path')]
      if (used.startsWith('node:'))
        return isInner(place.name, place.isModule) && !innerBuiltins.has(used) && pureParts[source.path] !== used
          ? [finding(source, at, `${place.name} reaches no file, socket or process: ${used}`)]
          : []
      return packageUsers[used]?.includes(place.name)
        ? []
        : [finding(source, at, `${used} is not for ${place.name}: see packageUsers in test/tidy/import-rules.ts`)]
    }),
  )
}

/** Packages and modules that open connections or look names up. */
const reaching =
  /^(?:node:(?:https?|http2|net|tls|dgram|dns(?:\/promises)?)|undici|openid-client|nodemailer|ssh2.*|@fastify\/reply-from|viem|@opentelemetry\/exporter.*)$/
/** Names of these modules that open nothing. */
const unreaching = /^(?:type\b.*|isIP|isIPv4|isIPv6|BlockList|)$/
const fetching = /(?<![.\w])fetch\s*\(|\bglobalThis\s*\.\s*fetch\b|\bnew\s+(?:WebSocket|EventSource)\b/g

/**
 * Every file of the service that reaches others, by who has chosen them. `own`: it listens, or calls a process of ours. `operator`: the
 * configuration names them. `chosen`: a partner or a stranger does, and the file is a part of webhooks/exchange, where such calls have their
 * budgets, or is given its `fetch` from there.
 */
export const reachers: Readonly<Record<string, 'own' | 'operator' | 'chosen'>> = {
  'service/src/app/process.ts': 'own',
  'service/src/app/processes.ts': 'own',
  'service/src/edge/gateway/forward.ts': 'own',
  'service/src/edge/gateway/gateway.ts': 'own',
  'service/src/edge/gateway/router.ts': 'own',
  'service/src/edge/observability/operations-server.ts': 'own',
  'service/src/postgres/database.ts': 'own',
  'service/src/postgres/embedded/start.ts': 'own',
  'service/src/chains/evm/rpc.ts': 'operator',
  'service/src/chains/evm/viem.ts': 'operator',
  'service/src/simulations/identity-provider/connector.ts': 'operator',
  'service/src/simulations/identity-provider/server.ts': 'operator',
  'service/src/banks/files/transport/session.ts': 'operator',
  'service/src/mail/transport.ts': 'operator',
  'service/src/edge/observability/tracing.ts': 'operator',
  'service/src/rates/configured.ts': 'operator',
  'service/src/webhooks/exchange/chosen-hosts.ts': 'chosen',
  'service/src/webhooks/exchange/exchange.ts': 'chosen',
  'service/src/webhooks/exchange/guard.ts': 'chosen',
  'service/src/webhooks/exchange/proxy.ts': 'chosen',
  'service/src/webhooks/exchange/resolver.ts': 'chosen',
  'service/src/people/sign-in/single-sign-on.ts': 'chosen',
}
/** Parts of webhooks/exchange that reach hosts without a budget. The queue has leases, and slots of its own. */
const unbudgeted = /\b(?:createExchange|createGuard|createResolver|createTxtResolver|systemResolve|openTunnel)\b/
const exchangeUsers = /^service\/src\/webhooks\/(?:exchange\/[\w-]+|jobs)\.ts$/

const reachesBy = ({ imports, code }: Source): readonly number[] => [
  ...imports
    .filter(({ from, names }) => {
      const taken = names.replaceAll(/[{}]/g, '').split(',')
      const isPure =
        /^\s*type\b/.test(names) || (names.trim() !== '' && taken.every((name) => unreaching.test(name.trim())))
      return reaching.test(from) && !isPure
    })
    .map(({ at }) => at),
  ...[...code.matchAll(fetching)].map(({ index }) => index),
]

/** A file reaches others only if the table says whom. What a partner may choose is reached by delivery/exchange. */
export function checkReach(
  sources: readonly Source[],
  table: Readonly<Record<string, string>> = reachers,
): readonly Finding[] {
  return sources.filter(isService).flatMap((source) => {
    const listed = table[source.path]
    const found = reachesBy(source)
    const isExchange = source.path.startsWith('service/src/webhooks/exchange/')
    return [
      ...(listed === undefined
        ? found.map((at) =>
            finding(
              source,
              at,
              'reaches a host: by `chosenHosts` of delivery/, or it stands in `reachers` of test/tidy/import-rules.ts',
            ),
          )
        : []),
      ...(listed !== undefined && found.length === 0
        ? [finding(source, 0, 'opens nothing, and stands in `reachers`')]
        : []),
      ...(listed === 'chosen' && !isExchange && !/\bcustomFetch\b/.test(source.code)
        ? [finding(source, 0, 'reaches chosen hosts by a fetch of its own')]
        : []),
      ...source.imports
        .filter(({ names }) => unbudgeted.test(names) && !exchangeUsers.test(source.path))
        .map(({ at }) => finding(source, at, 'takes an exchange without a budget: by `chosenHosts`')),
    ]
  })
}

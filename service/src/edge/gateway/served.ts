/** The routes of a server: the methods of a path (405, RFC 9110, section 15.5.6), and the nearest path to one that none serves. */
import { slipsBetween } from '../../kernel/index.ts'

/** A route. `pattern`: of the paths that it serves. */
export type Served = {
  readonly parts: readonly string[]
  readonly pattern: RegExp
  readonly methods: readonly string[]
}

/** `url`: in Fastify's notation of parameters, such as `/v1/customers/:id`. */
export const servedBy = (url: string, methods: readonly string[]): Served => ({
  parts: partsOf(url),
  pattern: new RegExp(`^${url.replaceAll('.', '\\.').replaceAll(/:\w+/g, '[^/]+')}$`),
  methods,
})

const partsOf = (path: string): readonly string[] => path.split('/').filter((part) => part !== '')

/** Returns the methods of all routes with this path, each once. Empty: there is none. */
export const methodsAt = (served: readonly Served[], path: string): readonly string[] => [
  ...new Set(served.filter(({ pattern }) => pattern.test(path)).flatMap(({ methods }) => methods)),
]

/** The bounds keep the search cheap, because strangers cause it too. No route is longer. */
const pathCharsMax = 300
const partCharsMax = 40
const slipsMax = 2

/**
 * The path that the caller meant: with single slashes, none at the end, the letters of the route, `/v1` in front, or up to
 * two slips fewer. Undefined: no route is near.
 */
export function nearestPath(served: readonly Served[], path: string): string | undefined {
  const given = partsOf(path)
  if (path.length > pathCharsMax || given.length === 0) return undefined
  const spellings = given[0]?.toLowerCase() === 'v1' ? [given] : [given, ['v1', ...given]]
  const [best] = served
    .flatMap(({ parts }) => spellings.map((spelling) => ({ parts, spelling, slips: slipsOf(parts, spelling) })))
    .filter(({ slips }) => slips <= slipsMax)
    // The route that leaves the fewest parts to parameters.
    .toSorted((a, b) => a.slips - b.slips || parametersIn(a.parts) - parametersIn(b.parts))
  if (best === undefined) return undefined
  const meant = `/${best.parts.map((part, at) => (isParameter(part) ? best.spelling[at] : part)).join('/')}`
  return meant === path ? undefined : meant
}

const isParameter = (part: string): boolean => part.startsWith(':')
const parametersIn = (parts: readonly string[]): number => parts.filter(isParameter).length

function slipsOf(parts: readonly string[], spelling: readonly string[]): number {
  if (parts.length !== spelling.length) return Infinity
  let sum = 0
  for (const [at, part] of parts.entries()) {
    const typed = spelling[at]?.toLowerCase() ?? ''
    if (isParameter(part) || part.toLowerCase() === typed) continue
    if (typed.length > partCharsMax || Math.abs(typed.length - part.length) > slipsMax) return Infinity
    const slips = slipsBetween(typed, part.toLowerCase())
    sum += slips
    if (sum > slipsMax || slips * 2 >= part.length) return Infinity
  }
  return sum
}

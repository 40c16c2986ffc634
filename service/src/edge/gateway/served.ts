/** Finds the methods of a path (405, RFC 9110, section 15.5.6), and the nearest route for an unknown path. */
import { editDistance } from '../../kernel/index.ts'

export type RoutePaths = {
  readonly parts: readonly string[]
  readonly pattern: RegExp
  readonly methods: readonly string[]
}

/** Converts a path to its form in Fastify, such as `/v1/customers/:id`. */
export const toRoutePaths = (url: string, methods: readonly string[]): RoutePaths => ({
  parts: splitPath(url),
  pattern: new RegExp(`^${url.replaceAll('.', '\\.').replaceAll(/:\w+/g, '[^/]+')}$`),
  methods,
})

const splitPath = (path: string): readonly string[] => path.split('/').filter((part) => part !== '')

/** Returns the methods of all routes that match the path, each once. */
export const methodsAt = (served: readonly RoutePaths[], path: string): readonly string[] => [
  ...new Set(served.filter(({ pattern }) => pattern.test(path)).flatMap(({ methods }) => methods)),
]

/** Longer than every route. Limits the cost of a search, because anybody can send unknown paths. */
const pathCharsMax = 300
const partCharsMax = 40
const slipsMax = 2

/**
 * Finds the path that the caller probably meant. Corrects slashes, upper case, a missing `/v1` and up to two typing
 * errors. Undefined: no route is near.
 */
export function nearestPath(served: readonly RoutePaths[], path: string): string | undefined {
  const given = splitPath(path)
  if (path.length > pathCharsMax || given.length === 0) return undefined
  const spellings = given[0]?.toLowerCase() === 'v1' ? [given] : [given, ['v1', ...given]]
  const [best] = served
    .flatMap(({ parts }) => spellings.map((spelling) => ({ parts, spelling, slips: countSlips(parts, spelling) })))
    .filter(({ slips }) => slips <= slipsMax)
    // Fewest slips first, then fewest parameters.
    .toSorted((a, b) => a.slips - b.slips || parametersIn(a.parts) - parametersIn(b.parts))
  if (best === undefined) return undefined
  const meant = `/${best.parts.map((part, at) => (isParameter(part) ? best.spelling[at] : part)).join('/')}`
  return meant === path ? undefined : meant
}

const isParameter = (part: string): boolean => part.startsWith(':')
const parametersIn = (parts: readonly string[]): number => parts.filter(isParameter).length

function countSlips(parts: readonly string[], spelling: readonly string[]): number {
  if (parts.length !== spelling.length) return Infinity
  let sum = 0
  for (const [at, part] of parts.entries()) {
    const typed = spelling[at]?.toLowerCase() ?? ''
    if (isParameter(part) || part.toLowerCase() === typed) continue
    if (typed.length > partCharsMax || Math.abs(typed.length - part.length) > slipsMax) return Infinity
    const slips = editDistance(typed, part.toLowerCase())
    sum += slips
    if (sum > slipsMax || slips * 2 >= part.length) return Infinity
  }
  return sum
}

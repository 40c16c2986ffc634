/**
 * Pure: checks the contrast of accent colours on the backgrounds of the pages (WCAG 2.2, relative luminance), and
 * writes their CSS.
 */

/** `#rrggbb`. */
export type Colour = string
export type Theme = 'light' | 'dark'

/** Minimum contrast of text (WCAG 2.2, success criterion 1.4.3). */
const contrastMin = 4.5
/** Minimum contrast of a derived dark colour, so that it is as readable as the built-in colour. */
const derivedContrastMin = 6

/**
 * `hardest`: the background with the least contrast to accents. `onAccent`: the colour of text on an accent. `towards`:
 * the colour that an accent is mixed with for more contrast.
 */
export const themeColours = {
  light: { hardest: '#eef0f4', surface: '#ffffff', onAccent: '#ffffff', towards: '#000000' },
  dark: { hardest: '#212834', surface: '#161b23', onAccent: '#0d1016', towards: '#ffffff' },
} as const satisfies Readonly<Record<Theme, object>>

/** The light accent of an installation that has set only a dark colour. */
const builtIn = '#2449c8'

/** Reads a colour. Undefined: the text is not `#rrggbb`. */
export const readColour = (text: string): Colour | undefined =>
  /^#[0-9a-f]{6}$/i.test(text) ? text.toLowerCase() : undefined

const channelsOf = (colour: Colour): readonly number[] =>
  [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16))

const linear = (channel: number): number => {
  const share = channel / 255
  return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
}

const luminance = (colour: Colour): number => {
  const [red = 0, green = 0, blue = 0] = channelsOf(colour).map(linear)
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

/** Computes the ratio of two luminances: from 1 to 21. */
export function contrastRatio(one: Colour, other: Colour): number {
  const [darker = 0, lighter = 0] = [luminance(one), luminance(other)].toSorted((left, right) => left - right)
  return (lighter + 0.05) / (darker + 0.05)
}

const mix = (colour: Colour, other: Colour, share: number): Colour => {
  const others = channelsOf(other)
  const channels = channelsOf(colour).map((channel, at) => Math.round(channel + ((others[at] ?? 0) - channel) * share))
  return `#${channels.map((channel) => channel.toString(16).padStart(2, '0')).join('')}`
}

const mixSteps = 256

/** Returns the colour itself, or the nearest mix with black or white that has the contrast. */
export function nearestReadable(colour: Colour, theme: Theme, contrast = contrastMin): Colour {
  const { hardest, towards } = themeColours[theme]
  for (let step = 0; step < mixSteps; step += 1) {
    const tried = mix(colour, towards, step / mixSteps)
    if (contrastRatio(tried, hardest) >= contrast) return tried
  }
  return towards
}

/** Returns a problem that completes "The colour ...". Undefined: text in the colour is readable in the theme. */
export function contrastProblem(colour: Colour, theme: Theme): string | undefined {
  const { hardest } = themeColours[theme]
  const contrast = contrastRatio(colour, hardest)
  if (contrast >= contrastMin) return undefined
  // Rounded down, because a contrast of 4.499 must not appear as 4.5.
  const shown = (Math.floor(contrast * 100) / 100).toFixed(2)
  return (
    `has a contrast of ${shown} on the ${theme} background ${hardest}, and needs ${contrastMin}; ` +
    `the nearest colour that passes is ${nearestReadable(colour, theme)}`
  )
}

export const darkAccent = (light: Colour): Colour => nearestReadable(light, 'dark', derivedContrastMin)

/** Returns a tint of the surface on which the accent is readable. */
function softAccent(accent: Colour, theme: Theme): Colour {
  const { surface } = themeColours[theme]
  const tints = [0.12, 0.09, 0.06, 0.03].map((share) => mix(surface, accent, share))
  return tints.find((tint) => contrastRatio(accent, tint) >= contrastMin) ?? surface
}

export type AccentColours = { readonly light?: Colour | undefined; readonly dark?: Colour | undefined }

/** Returns the accent of each theme, derived if it is not set. */
export const themeAccents = ({ light = builtIn, dark = darkAccent(light) }: AccentColours) => ({ light, dark })

/** Returns CSS that sets the accent in both themes. */
export function accentCss(accent: AccentColours): string {
  const { light, dark } = themeAccents(accent)
  const pair = (name: string, of: (accent: Colour, theme: Theme) => Colour) =>
    `  --${name}: light-dark(${of(light, 'light')}, ${of(dark, 'dark')});\n`
  const strong = (accent: Colour, theme: Theme) => mix(accent, themeColours[theme].towards, 0.2)
  return `:root {\n${[
    pair('accent', (colour) => colour),
    pair('accent-strong', strong),
    pair('accent-soft', softAccent),
    pair('on-accent', (_accent, theme) => themeColours[theme].onAccent),
  ].join('')}}\n`
}

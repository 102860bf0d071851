/** They differ in lightness too, so that they can be distinguished without color vision. The last is for the others. */
export const COLORS = [
  'light-dark(#0f6b7c, #62b9c8)',
  'light-dark(#c2791b, #e5b567)',
  'light-dark(#6554b8, #a99cf0)',
  'light-dark(#3d8a5a, #6fcf97)',
  'light-dark(#b8447a, #ee8fb8)',
  'light-dark(#8a8985, #70747d)',
]

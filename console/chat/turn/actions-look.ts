/** What can be done with a message: in sight where there is no pointer to hover with, and for the keyboard; its room is always kept. */
export const TURN_ACTIONS =
  'flex text-muted transition-opacity duration-100 not-pointer-coarse:opacity-0 group-hover/turn:opacity-100 group-focus-within/turn:opacity-100 group-data-last/turn:opacity-100 [&_button]:text-muted [&_button:hover]:text-ink'

// Preact and htm under one name. Strings become text nodes and attributes, never markup.
import { Component, Fragment, createContext, h, render } from '../../vendor/preact.js';
import {
  useCallback, useContext, useEffect, useId, useLayoutEffect, useMemo, useReducer, useRef, useState,
} from '../../vendor/hooks.js';
import htm from '../../vendor/htm.js';

export const html = htm.bind(h);
export {
  Component, Fragment, createContext, h, render,
  useCallback, useContext, useEffect, useId, useLayoutEffect, useMemo, useReducer, useRef, useState,
};
